"""The reader of answers: which legal action a person, a program or a language model means.

The last JSON object of an answer counts, `{"action": "play JC"}`. Without one the answer has to be one line that is an
action and nothing else, or end with an envelope that holds one: `<answer>J♣</answer>`, `\\boxed{play JC}`, a line
`**Answer:** play JC`, a fence, `I play the jack of clubs`. Nothing is guessed from prose: "I could play JC or 9D" is
refused, and so is what could be two actions. A refusal is a sentence with what was given and what is legal.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import Any

from backalley.console.errors import InvalidValue, shortly

from ..api.game_state import GameState
from ..game.game import Game
from .phrases import CARD, Phrase, has_rank, phrase, without_copies

LONGEST = 200_000
"""The most characters of an answer that is read."""
_LONGEST_PHRASE = 200
_DEEPEST = 100
"""Objects that begin inside each other and cannot be read, before the rest is left unread."""
_MOST_NAMED, _MOST_ENVELOPES = 16, 4
_WRAPPED = re.compile(r"(?s)\s*(?:(\*{1,2}|[\"'`])(.*)\1|\[([^\[\]]*)\]|(.*?))[.!]?\s*")
"""An answer in quotes, in brackets or in bold, with or without a full stop."""
_COUNTED = re.compile(r"([a-z]+) [0-9]+")
"""A name that is a word and a number, such as `bid 3`."""
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_WITH_NUMBER = re.compile(r"(.+?) \((0|[1-9][0-9]{0,5})\)")
_ENVELOPES = tuple(
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        r"```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```",
        r"(?:(?!<(?:answer|action|move)>).)*<(answer|action|move)>((?:(?!<(?:answer|action|move)>).)*)</\1>",
        r"(?:(?!\\boxed).)*?(?:\$\$?|\\\(|\\\[)?\s*\\boxed\{((?:(?!\\boxed).)*)\}\s*(?:\$\$?|\\\)|\\\])?[.!]?",
        r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}",
        r"\{\s*['\"]?action['\"]?\s*:\s*'([^'\"\\{}]*)'\s*,?\s*\}",
        r"I(?: will|'ll|\u2019ll| choose to| am going to|'m going to)? ((?!choose\b|will\b)[^\n]+)",
    )
)
"""What may hold an answer, each with its inside as the last group: a fence, a tag or a box at the end of prose, LaTeX's
words, a dictionary of Python's, a sentence that says what is done."""
_LABEL = re.compile(
    r"[#>*_\s]*(?:the |my |final )*(?:answer|action|move|choice|decision)(?: is)?[*_]*\s*:[*_]*[ \t]*(\S.*)",
    re.IGNORECASE,
)
"""A last line that is announced, such as `**Final answer:** pass`."""


class UnreadableAnswer(InvalidValue):
    """An answer that is no legal action for certain; its message says what was given and what is legal."""


def read_answer(state: GameState, answer: str | int) -> int:
    """Return the legal action that an answer names: by name (`play JC`, "play the jack of clubs", "J♣" where that is
    one action), or by number.

    Where legal actions are named by a number, as `bid 3`, or play a card of that rank, a number has to mean the same
    action both ways. Raises UnreadableAnswer for any other answer, of any type, and where nobody is to act.
    """
    if state.seat < 0:
        raise UnreadableAnswer("The game is over: no answer is asked for." if state.is_over else "Chance decides here.")
    return read_among(state.game, state.legal_actions(), answer)


def read_among(game: Game, legal: Sequence[int], answer: str | int) -> int:
    """Return what `read_answer` does, where these actions of a game are legal."""
    return _read(game, legal, answer, _MOST_ENVELOPES)


def _read(game: Game, legal: Sequence[int], answer: str | int, envelopes: int) -> int:
    """The same, with at most so many envelopes one in another."""
    if isinstance(answer, bool) or not isinstance(answer, (str, int)):
        raise _refusal(game, legal, f"The answer is of type {type(answer).__name__}; it takes text")
    if isinstance(answer, int):
        return _numbered(game, legal, answer)
    if len(answer) > LONGEST:
        raise _refusal(game, legal, f"The answer has {len(answer):,} characters; at most {LONGEST:,} are read")
    try:
        given = _last_action(answer)
    except _NoObject as trouble:
        if envelopes and (inside := _inside(answer)) is not None:
            return _read(game, legal, inside, envelopes - 1)
        if str(trouble):
            raise _refusal(game, legal, f"{trouble}, in {shortly(answer)}") from None
        return read_phrase(game, legal, answer)
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise _refusal(game, legal, f'"action" is {shortly(given)}; it takes the name of an action in quotes')
    return _numbered(game, legal, given) if isinstance(given, int) else read_phrase(game, legal, given)


def read_phrase(game: Game, legal: Sequence[int], text: str, *, begun: bool = False) -> int:
    """Return the legal action that one phrase names, as `read_answer` does without JSON. With `begun` the beginning of
    exactly one legal action's name is enough, for people at a keyboard. Raises UnreadableAnswer."""
    stripped = text.strip()
    if not stripped:
        raise _refusal(game, legal, "The answer is empty")
    if len(stripped) > _LONGEST_PHRASE or len(stripped.splitlines()) > 1:
        raise _refusal(game, legal, f"{shortly(stripped)} is not an action and nothing else")
    wrapped = _WRAPPED.fullmatch(stripped)
    inner = next((part for part in wrapped.groups()[1:] if part is not None), "") if wrapped else stripped
    bare = inner.strip()
    if beside := _WITH_NUMBER.fullmatch(bare):
        return _with_number(game, legal, beside[1], int(beside[2]))
    if _NUMBER.fullmatch(bare):
        return _numbered(game, legal, int(bare))
    words = phrase(bare)
    found = _named(game, words)
    if found or not words:
        return _only(game, legal, found, shortly(stripped))
    beginning = [
        action for action in legal if game.action_str(action).lower().startswith(" ".join(bare.lower().split()))
    ]
    if beginning and not begun:
        raise _refusal(game, legal, f"{shortly(stripped)} could be {_several(game, beginning)}; write all of it")
    return _only(game, legal, beginning, shortly(stripped))


def legal_sentence(game: Game, legal: Sequence[int]) -> str:
    """Return `Legal: play JC, play 9D.`, shortened if there are many."""
    names = [game.action_str(action) for action in legal]
    more = f" ... ({len(names)} in all)" if len(names) > _MOST_NAMED else ""
    return f"Legal: {', '.join(names[:_MOST_NAMED])}{more}."


# Names and numbers ---------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _phrases(game: Game) -> dict[Phrase, list[int]]:
    """Every phrase that names actions of a game: whole names, names without the copy of their card, and cards alone."""
    found: dict[Phrase, list[int]] = {}
    for action in range(game.num_actions):
        name = phrase(game.action_str(action))
        forms = [name, without_copies(name)]
        forms += [form[1:] for form in forms if len(form) == 2 and CARD.fullmatch(form[1])]
        for form in dict.fromkeys(forms):
            found.setdefault(form, []).append(action)
    return found


def _with_number(game: Game, legal: Sequence[int], name: str, number: int) -> int:
    """The action that a hint names with its number, `play 7Da (16)`."""
    action = read_phrase(game, legal, name)
    if action != number:
        its = game.action_str(number) if number < game.num_actions else "none"
        why = f"{shortly(name)} is action {action}, and {number} is {its}"
        raise _refusal(game, legal, why)
    return action


def _named(game: Game, words: Phrase) -> list[int]:
    return _phrases(game).get(words, []) if words else []


def _numbered(game: Game, legal: Sequence[int], number: int) -> int:
    """The legal action of that number, unless legal actions are named by a number, or play a card of that rank, and
    this could be one of those."""
    if not 0 <= number < game.num_actions:
        raise _refusal(game, legal, f"{game.title} has no action {shortly(number)}")
    counted = {found[1] for action in legal if (found := _COUNTED.fullmatch(game.action_str(action)))}
    others = [action for word in sorted(counted) for action in _named(game, phrase(f"{word} {number}"))]
    others += [action for action in legal if has_rank(phrase(game.action_str(action)), number)]
    if [action for action in others if action != number]:
        either = _several(game, [action for action in others if action != number])
        why = f"{number} could be {either}, or action {number} ({game.action_str(number)}); write the action's name"
        raise _refusal(game, legal, why)
    return _only(game, legal, [number], str(number))


def _only(game: Game, legal: Sequence[int], found: Sequence[int], shown: str) -> int:
    """The one legal action among those that were found."""
    playable = [action for action in found if action in legal]
    if len(playable) == 1:
        return playable[0]
    if playable:
        raise _refusal(game, legal, f"{shown} could be {_several(game, playable)}")
    if found:
        named = _several(game, found)
        raise _refusal(game, legal, f"{shown}{'' if named in shown else f' ({named})'} is not legal now")
    raise _refusal(game, legal, f"{shown} is no action of {game.title}")


def _several(game: Game, actions: Sequence[int]) -> str:
    names = " or ".join(game.action_str(action) for action in actions[:_MOST_NAMED])
    return f"{names} ..." if len(actions) > _MOST_NAMED else names


def _refusal(game: Game, legal: Sequence[int], why: str) -> UnreadableAnswer:
    return UnreadableAnswer(f"{why}. {legal_sentence(game, legal)}")


def _inside(answer: str) -> str | None:
    """What an envelope holds that an answer is, or ends with; None where there is none, or more than one."""
    bare = answer.strip()
    for envelope in _ENVELOPES:
        if (found := envelope.fullmatch(bare)) and (inside := found[found.lastindex or 0].strip()) != bare:
            return inside
    *_, last = bare.splitlines() or [""]
    labelled = [line for line in bare.splitlines() if _LABEL.fullmatch(line.strip())]
    found = _LABEL.fullmatch(last.strip())
    return found[1].strip() if found and len(labelled) == 1 else None


# JSON ----------------------------------------------------------------------------------------------------------------


class _NoObject(Exception):
    """No JSON object of an answer can be read; the message says why, and is empty where there is none."""


def _last_action(answer: str) -> Any:
    """The value of "action" in the last JSON object of an answer. Objects inside others do not count, nor does any that
    something follows, or that something holds, which begins as an object and is none: that may be what was meant."""
    found: Any = None
    unfinished, at = 0, 0
    try:
        while (brace := _next_brace(answer, at)) >= 0:
            at = brace + 1
            if answer[brace] == "}":
                unfinished = max(0, unfinished - 1)
                continue
            try:
                read, end = _DECODER.raw_decode(answer, brace)
            except ValueError:
                unfinished, found = unfinished + 1, None
                if unfinished > _DEEPEST:
                    break
                continue
            at, found = end, found if unfinished else read
    except RecursionError:
        raise _NoObject("A JSON object is nested too deeply") from None
    if unfinished:
        raise _NoObject("A JSON object begins and cannot be read to its end")
    if found is None:
        raise _NoObject
    if len(given := [value for name, value in found if name == "action"]) != 1:
        raise _NoObject(f'The last JSON object has {len(given) or "no"} "action"; it takes one')
    return given[0]


def _next_brace(answer: str, at: int) -> int:
    found = [place for place in (answer.find("{", at), answer.find("}", at)) if place >= 0]
    return min(found, default=-1)


def _refused(name: str) -> Any:
    raise InvalidValue(f"{name} is no JSON.")


_DECODER = json.JSONDecoder(object_pairs_hook=list, parse_constant=_refused)
