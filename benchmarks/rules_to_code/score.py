"""Score candidates: programs that were written from the games' pages.

    backalley score-rules FOLDER

FOLDER holds a file for each game that was written, such as `pitch.py`, with a class `Game`. A game's score is the mean
of two shares: of the rule vectors that come out as stated, and of the hidden games that are played to their end without
a difference. The score of all is the mean over the games of this package that were written or asked for.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import check_path
from backalley.envs.core.game.catalogue import games as all_games
from backalley.envs.core.game.game import Game

from ..figures import results
from ..figures.formatting import Line
from ..figures.result_kinds import Files, Kept
from .programs import Limits, OfGame, Player, candidate, has_bubblewrap, reference
from .scripts import first_difference, playable_cases, variants, where, whole_step

HIDDEN, MOST_DECISIONS = 40, 200
"""Hidden games of each game, and the most decisions of one."""
_EXAMPLES = 3
"""Differences that a result holds in words, for each paragraph."""

HELD = {
    "bubblewrap": "The candidates ran under bubblewrap: this package, other files and a network were not there.",
    "python": "No bubblewrap was found, so the candidates were held by checks inside their own Python, which a program "
    "that means to can get around. Read them before you believe this score.",
}
"""What held the candidates, for readers of a result."""

Progress = Callable[[int, int, str], None]
OnDone = Callable[[], None]
"""Called before each script."""


def _lines(files: Files) -> Iterator[Line]:
    """A line for each paragraph of each game, and one for the game."""
    for found in files:
        for game in found["games"]:
            yield {
                "game": game["game"],
                "paragraph": "all",
                "vectors right": f"{game['right']} of {game['vectors']}",
                "hidden games right": f"{game['whole']} of {game['hidden']}",
                "score": f"{100 * game['score']:.1f} %",
            }
            for each in game["paragraphs"]:
                yield {
                    "game": game["game"],
                    "paragraph": each["paragraph"],
                    "vectors right": f"{each['right']} of {each['vectors']}" if each["vectors"] else "",
                    "hidden games wrong here": str(each["hidden_wrong"] or ""),
                }


def _games(files: Files) -> Iterator[Line]:
    """Only the lines of whole games."""
    for line in _lines(files):
        if line.pop("paragraph") == "all":
            yield line


class RulesToCode(
    Kept,
    kind="rules_to_code",
    heading="Rules to code",
    tables={"rules_to_code": _lines, "rules_to_code_games": _games},
):
    """How well candidates play, by game and paragraph."""

    in_title = frozenset()

    @property
    def title(self) -> str:
        """The score of all games."""
        of = ", ".join(game["game"] for game in self.found["games"])
        return f"{self.found['candidate']} scores {100 * self.score:.1f} % in {of}"

    @property
    def score(self) -> float:
        """The mean score of the games."""
        return float(self.found["score"])

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say which games were not scored, and what went wrong first."""
        notes = []
        for found in files:
            notes += [HELD[found["isolation"]]] if found.get("isolation") in HELD else []
            if found["missing"]:
                notes.append(f"Not written, and not counted: {', '.join(found['missing'])}.")
            for game in found["games"]:
                for each in game["paragraphs"]:
                    notes += [f"{game['game']}, {each['paragraph']}: {said}" for said in each["examples"][:1]]
        return notes


def score_rules(
    folder: Path | str | None,
    games: Sequence[Game] | None = None,
    *,
    hidden: int = HIDDEN,
    seed: int = 0,
    limits: Limits | None = None,
    player: Callable[[Game], Player] | None = None,
    progress: Progress | None = None,
    command: str = "",
) -> RulesToCode:
    """Score the candidates in a folder; without a folder our own rules behind the interface, which score 1.

    `games` are by default those that the folder has a file for. `hidden` games of each are played by random players and
    bots from `seed`, half of them under the default options. `player` makes the process of a game's candidate, for
    tests. Raises ValueError for a folder without candidates, OSError for none.
    """
    limits = limits or Limits()
    place = None if folder is None else check_path(folder)
    named = list({game.name: game for game in games or ()}.values())
    chosen = named or [game for game in all_games() if place is None or _file(place, game).is_file()]
    if place is not None:
        _check_folder(place, chosen)
    rules = reference()

    def candidate_of(game: Game) -> Player:
        return OfGame(rules, game.spec) if place is None else candidate(_file(place, game), limits)

    found, scripts, asked = [], sum(len(playable_cases(game)) + hidden for game in chosen), itertools.count(1)
    try:
        for game in chosen:

            def on_done(name: str = game.name) -> None:
                if progress:
                    progress(next(asked), scripts, name)

            found.append(_score_of(game, (player or candidate_of)(game), rules, hidden, seed, on_done))
    finally:
        rules.close()
    return RulesToCode(
        {
            "kind": RulesToCode.kind,
            "command": command,
            "candidate": "the reference" if place is None else place.resolve().name,
            "seed": seed,
            "isolation": "ours" if place is None or player else "bubblewrap" if has_bubblewrap() else "python",
            "sha256": None if place is None else _digest(place),
            "score": sum(one["score"] for one in found) / len(found),
            "games": found,
            "missing": [game.name for game in all_games() if game.name not in {one["game"] for one in found}],
            **results.stamp(__file__, *chosen),
        }
    )


def _file(folder: Path, game: Game) -> Path:
    return folder / f"{game.name}.py"


def _digest(folder: Path) -> str:
    """The SHA-256 of the folder's programs, with their names."""
    found = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        text = file.read_bytes()
        found.update(f"{file.name} {len(text)} ".encode("utf-8", "surrogateescape") + text)
    return found.hexdigest()


def _check_folder(folder: Path, games: Sequence[Game]) -> None:
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is no folder; name the one that holds the candidates, such as pitch.py.")
    absent = [game.name for game in games if not _file(folder, game).is_file()]
    if absent or not games:
        names = ", ".join(f"{name}.py" for name in absent or [game.name for game in all_games()])
        raise InvalidValue(f"{folder} holds no candidate to score; it takes files with a class Game: {names}.")


def _score_of(game: Game, player: Player, rules: Player, hidden: int, seed: int, on_done: OnDone) -> dict[str, Any]:
    """The score of one game."""
    try:
        played = list(_play_vectors(game, player, on_done))
        blamed = list(_play_hidden(game, player, rules, hidden, seed, on_done))
    finally:
        player.close()
    vectors, right = (Counter(rule for rule, said in played if every or said is None) for every in (True, False))
    whole = sum(said is None for _, said in blamed)
    at_fault = Counter(paragraph for paragraphs, said in blamed if said for paragraph in paragraphs)
    differences = [(rule, said) for rule, said in played if said]
    differences += [(one, f"in a hidden game, {said}") for paragraphs, said in blamed if said for one in paragraphs]
    names = sorted({*vectors, *at_fault}, key=_in_order)
    shares = [sum(right.values()) / sum(vectors.values())] if vectors else []
    shares += [whole / len(blamed)] if blamed else []
    return {
        "game": game.name,
        "score": sum(shares) / len(shares),
        "vectors": sum(vectors.values()),
        "right": sum(right.values()),
        "hidden": len(blamed),
        "whole": whole,
        "paragraphs": [
            {
                "paragraph": name,
                "vectors": vectors[name],
                "right": right[name],
                "hidden_wrong": at_fault[name],
                "examples": [said for rule, said in differences if rule == name][:_EXAMPLES],
            }
            for name in names
        ],
    }


def _in_order(paragraph: str) -> list[int]:
    return [int(number) for number in paragraph.lstrip("§").split(".")]


def _play_vectors(game: Game, player: Player, on_done: OnDone) -> Iterator[tuple[str, str | None]]:
    """For each vector: its paragraph, and how it differs, or None."""
    for case in playable_cases(game):
        on_done()
        answer = player.play(case.script)
        differs = first_difference(answer.get("steps"), answer.get("error"), iter(case.checks))
        place = where(case.script, differs[0], game.type.bind().option_values) if differs else ""
        yield case.rule, f"{case.says} {place[0].upper()}{place[1:]}: {differs[1]}." if differs else None


def _play_hidden(
    game: Game, player: Player, rules: Player, hidden: int, seed: int, on_done: OnDone
) -> Iterator[tuple[list[str], str | None]]:
    """For each hidden game: the paragraphs that a difference speaks against, and how it differs, or None."""
    draw, played, said = random.Random(f"{game.name} {seed}"), [], list[str | None]()
    others, bots = variants(game), [None, *(bot.name for bot in game.type.bots)]
    defaults = game.type.bind().option_values
    for number in range(hidden):
        on_done()
        options = draw.choice(others) if number % 2 else {}
        request = {"game": game.spec, "options": options, "seed": draw.getrandbits(48), "bot": draw.choice(bots)}
        made = rules.ask({**request, "most": MOST_DECISIONS})
        if made.get("error") or "script" not in made:
            raise InvalidValue(f"The rules of {game.name} could not play a hidden game: {made.get('error')}.")
        answer = player.play(made["script"])
        checks = ((after, whole_step(step)) for after, step in enumerate(made["steps"]))
        differs = first_difference(answer.get("steps"), answer.get("error"), checks)
        played.append((made["rules"], None if differs is None else differs[0]))
        place = where(made["script"], differs[0], defaults) if differs else ""
        said.append(f"{place}: {differs[1]}" if differs else None)
    found = iter(suspects(played))
    for how in said:
        yield (next(found), how) if how else ([], None)


def suspects(games: Sequence[tuple[Sequence[Sequence[str]], int | None]]) -> list[list[str]]:
    """Return, for each game that differs, the paragraphs of the kernels that rank highest at the step where it first
    does: several where they rank alike, none where no rule ran.

    At the first step that differs several kernels ran, each the rule of a paragraph. Those that also ran at many steps
    that did not differ are less suspect: they are ranked by Ochiai's coefficient, as in fault localisation (R. Abreu,
    P. Zoeteweij, A. van Gemund 2007, On the accuracy of spectrum-based fault localization). With f steps that differ,
    of which a kernel ran at e, and p other steps at which it ran, it is e / sqrt(f (e + p)).

    A game is the kernels of its steps, each as `§1.3 rules.play`, and the first step that differs, or None. Steps after
    that are not counted.
    """
    differ, agree, failed = Counter[str](), Counter[str](), 0
    for steps, first in games:
        for rules in steps if first is None else steps[:first]:
            agree.update(rules)
        if first is not None and first < len(steps):
            failed += 1
            differ.update(steps[first])
    found = []
    for steps, first in games:
        if first is not None:
            rules = steps[first] if first < len(steps) else ()
            ranks = {rule: differ[rule] / math.sqrt(failed * (differ[rule] + agree[rule])) for rule in rules}
            best = max(ranks.values(), default=0.0)
            found.append(sorted({rule.split()[0] for rule, rank in ranks.items() if math.isclose(rank, best)}))
    return found
