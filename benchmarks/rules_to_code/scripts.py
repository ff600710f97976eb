"""What a candidate is asked to play and to show: the rule vectors that its interface can play, hidden games, and the
values of a game that its `state()` has, which the page defines and a person writes down.

A vector that calls one of our kernels, sets fields of our State, or checks only such fields cannot be played by a
program that has neither; hidden games cover what it is about.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from backalley.envs.core.game.game import Game
from backalley.envs.core.game.reset_options import stacked_deck
from backalley.envs.core.rules import record
from backalley.envs.core.rules.options import declared

_HAND = ("initial_value", "total", "player_total", "replaced_aces", "pushes", "draws", "success", "verdict")
_DEALER = (*_HAND, "dealer_total", "advantage")
PUBLIC: dict[str, tuple[str, ...]] = {
    "baccarat": ("units", "coup", "totals", "winner", "banker", "participant"),
    "backhand": _HAND,
    "bezique": ("score", "total", "brisques", "trump", "trick", "stock_left", "dealer", "deal_number"),
    "buffalo_bayou": _DEALER,
    "killer_bridge": ("dealer", "trump", "hand_size", "won", "score", "made", "sips"),
    "missouri_city": (*_DEALER, "dealt_first", "winner", "game", "games_won", "stalemates"),
    "pitch": ("dealer", "high_bid", "pitcher", "trump", "score", "finished"),
    "poker_duel": ("points", "dealer", "game", "round_index", "sudden_death"),
    "twenty_one": ("purse", "pot", "own", "banker", "back_passing", "final_round", "round_number", "bank", "result"),
}  # fmt: skip
"""The fields of the State of each game in this package. A game elsewhere has none: turns, legal actions and rewards
are compared there."""
Shown = dict[str, Any]
"""What a game says of itself at a step: turn, legal, rewards, state."""
_CLOSE = 1e-4
"""Rewards are single precision."""


def public_state(game: Game, state: Any) -> dict[str, Any]:
    """Return the public values of a state, as numbers and lists."""
    return {name: np.asarray(state[name]).tolist() for name in PUBLIC.get(game.name, ())}


def meanings(game: Game) -> dict[str, str]:
    """Return what each public value is."""
    fields = {each.name: each for each in record.fields(game.type.State)}
    return {name: fields[name].doc for name in PUBLIC.get(game.name, ())}


class Case(NamedTuple):
    """A rule vector as a script."""

    rule: str
    says: str
    script: dict[str, Any]
    checks: list[tuple[int, Shown]]
    """What has to be shown after that many actions; of lists in `state`, the leading entries."""


def vector_cases(game: Game) -> list[dict[str, Any]]:
    """Return the cases of a game's `vectors.toml`; none where it has no such file."""
    path = game.type.folder / "vectors.toml"
    found = tomllib.loads(path.read_text("utf-8"))["case"] if path.is_file() else []
    return [dict(game.type.reworded_case(case)) for case in found]


def playable_cases(game: Game) -> list[Case]:
    """Return those that a candidate can play."""
    found = (_case(game, case) for case in vector_cases(game) if "step" in case and "state" not in case)
    return [case for case in found if case.checks]


def _case(game: Game, case: dict[str, Any]) -> Case:
    bound, actions, checks = game.type.bind(case.get("options", {})), list[str](), list[tuple[int, Shown]]()
    for step in case["step"]:
        checks.append((len(actions), {name: step[name] for name in ("seat", "legal") if name in step}))
        actions += [step["action"]] if "action" in step else []
        for after in (step, step.get("then", {})):
            fields = {name: value for name, value in after.get("state", {}).items() if _is_public(game, name, value)}
            said = {name: after[name] for name in ("reward", "over") if name in after}
            checks.append((len(actions), {**said, **({"state": fields} if fields else {})}))
    script = {
        "options": bound.option_values,
        "start_outcome": case.get("start_outcome", 0),
        "decks": [_named(bound, deck) for deck in [*case.get("decks", []), *[[]] * _MORE_DECKS]],
        "actions": actions,
    }
    return Case(case["rule"], case["says"], script, [(after, wanted) for after, wanted in checks if wanted])


_MORE_DECKS = 4
"""Packs in ascending order after those of a case, for games that deal on at its end."""


def _is_public(game: Game, name: str, value: Any) -> bool:
    """Whether candidates show a field; cards, which vectors name, they do not."""
    return name in PUBLIC.get(game.name, ()) and '"' not in str(value) and "'" not in str(value)


def _named(game: Game, deck: list[Any]) -> list[str]:
    """The names of a whole pack that begins with these cards."""
    return [game.card_name(game.pack[place]) for place in stacked_deck(game, deck).tolist()]


def variants(game: Game) -> list[dict[str, Any]]:
    """Return the options that rule vectors name, none twice, the defaults first; and of each limit (`max_hands`) the
    lowest, since games that a limit ends are rare under the others."""
    found: dict[Game, dict[str, Any]] = {game.type.bind(): {}}
    kinds: type = game.type.Options
    options = declared(kinds).items()
    lowest = [{name: note.low} for name, (_, note) in options if name.startswith("max_") and note.low]
    for given in [*(case.get("options", {}) for case in vector_cases(game)), *lowest]:
        found.setdefault(game.type.bind(given), given)
    return list(found.values())


# What differs ---------------------------------------------------------------------------------------------------------


def first_difference(steps: Any, error: Any, checks: Iterator[tuple[int, Shown]]) -> tuple[int, str] | None:
    """Return the first step at which an answer is not what is checked, and how it differs; None where it never does.
    Whatever a candidate answered, this raises nothing. Of every two values the candidate's is named first."""
    given = steps if isinstance(steps, list) else []
    for after, wanted in checks:
        if after >= len(given):
            return after, str(error)[:300] if error else "it stops before this step"
        found = given[after] if isinstance(given[after], dict) else {}
        for name, expected in wanted.items():
            said = _difference(name, expected, found)
            if said:
                return after, said
    return None


def _difference(name: str, expected: Any, found: Shown) -> str:
    """How one entry differs, or an empty text."""
    turn, rewards = found.get("turn"), found.get("rewards")
    if name == "seat":
        return "" if _same(turn, expected) else _two("turn", turn, expected)
    if name == "over":
        return "" if (turn == "over") == expected else _two("turn", turn, "over" if expected else "not over")
    if name == "legal":
        return _other_actions(found.get("legal"), expected)
    if name == "reward":
        return "" if _same(rewards, expected) else _two("rewards", rewards, expected)
    state = found.get("state")
    shown = state if isinstance(state, dict) else {}
    wrong = [field for field, value in expected.items() if not _begins_with(shown.get(field), value)]
    return _two(wrong[0], shown.get(wrong[0]), expected[wrong[0]]) if wrong else ""


def _two(name: str, given: Any, expected: Any) -> str:
    return f"{name}: the candidate has {_shortly(given)}, and the rules have {_shortly(expected)}"


def where(script: dict[str, Any], after: int, defaults: dict[str, Any]) -> str:
    """Say after which actions of a script something is, and under which options that are not the defaults."""
    names, given = script["actions"][:after], script["options"]
    options = ", ".join(f"{name}={value}" for name, value in given.items() if defaults.get(name) != value)
    last = f", the last {' / '.join(names[-_LAST:])}" if names else ""
    return f"after {after} actions{last}{f' (options {options})' if options else ''}"


_LAST = 3
"""Actions that a difference names."""


def _other_actions(given: Any, expected: list[str]) -> str:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        return f"legal actions: the candidate has {_shortly(given)}, which is no list of names"
    found, wanted = sorted(_plain(name) for name in given), sorted(_plain(name) for name in expected)
    if found == wanted:
        return ""
    more, fewer = sorted({*found} - {*wanted}), sorted({*wanted} - {*found})
    listed = [f"only {whose} {', '.join(names[:4])}{' ...' * (len(names) > 4)}" for names, whose in
              ((more, "the candidate has"), (fewer, "the rules have")) if names]  # fmt: skip
    return f"legal actions: {'; '.join(listed) or 'the candidate lists one twice'}"


def _plain(name: str) -> str:
    return " ".join(name.lower().split())


def _begins_with(given: Any, expected: Any) -> bool:
    """Whether a list begins with the entries expected, at every level; numbers are equal."""
    if isinstance(expected, list):
        enough = isinstance(given, list) and len(given) >= len(expected)
        return enough and all(map(_begins_with, given, expected))
    return _same(given, expected)


def _same(given: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return isinstance(given, list) and len(given) == len(expected) and all(map(_same, given, expected))
    if isinstance(expected, str) or isinstance(given, str):
        return type(given) is type(expected) and given == expected
    return isinstance(given, (bool, int, float)) and math.isclose(given, expected, rel_tol=1e-6, abs_tol=_CLOSE)


def whole_step(said: Shown) -> Shown:
    """Return all that a hidden game checks at a step, from what the rules say there."""
    over = {"over": True} if said["turn"] == "over" else {"seat": said["turn"], "legal": said["legal"]}
    return {**over, "reward": said["rewards"], **({"state": said["state"]} if said["state"] else {})}


def _shortly(value: Any) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        text = "no plain value"
    return text if len(text) <= 60 else f"{text[:57]}..."
