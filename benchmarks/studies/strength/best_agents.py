"""The leaderboard of all games: the best known agent of each kind, from ladders, entries, searches, attacks and the
panel of strangers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from backalley.envs.core.game.game import Game

from ...figures.attacks import best_of
from ...figures.formatting import (
    Found,
    Line,
    bound,
    changed,
    interval,
    label,
    mean,
    optional,
    signed,
    title,
    with_interval,
)
from ...figures.result_kinds import Files
from ...figures.stats import Estimate

ATTACK = "attack gains at least"
"""The column of what an opponent who trained against an agent gains."""
BOUND = "nobody gains more than"
"""The column of what a best response gains, where it is known (`backalley exploit`)."""
WORST, MEAN = "worst gain on strangers", "mean gain on strangers"
"""The columns of what an agent gains on the panel of strangers (`panel.py`)."""
KINDS = ("bot", "policy", "search", "entered")
"""Kinds of agents; `entered` are agents that do not come with the package."""
_SEARCHES = ("mc", "search", "search+policy")
_EVEN = Estimate(0.0, 0.0, 0.0)
"""What the baseline gains on itself."""


def met_bots(made: Mapping[str, Any]) -> list[str] | None:
    """Return the bots that a policy met in training, by their names, from its metadata `made`; None where these do not
    say."""
    if "field" in made:
        return [name.removeprefix("bot:") for name in made["field"] if name.startswith("bot:")]
    found: list[str] | None = made.get("met")
    return found


class Candidate(NamedTuple):
    """An agent that may be the best of its kind in a game."""

    kind: str
    row: Found
    gain: Estimate
    """Its mean return against the best bot; where seats play alone, its lead over the best bot's."""


def tables_of(files: Files) -> Iterator[Found]:
    """Return the tables of the ladders among files, each with what its file says; files of attacks and searches may be
    beside them."""
    return ({**found, **table} for found in files if "tables" in found for table in found["tables"])


def attack_gain(files: Files, table: Found, row: Found) -> dict[str, float] | None:
    """Return what the best attack among the files gains on the agent of a `row` of a table; None where it was not
    attacked."""
    game, names = bound(table), {row["label"], row.get("own_name")}
    of_agent = (one for one in files if one.get("kind") == "attack" and one["agent"] in names and _is(game, one))
    return max((best_of(one)["gain"] for one in of_agent), key=lambda gain: float(gain["low"]), default=None)


def _best_response(files: Files, table: Found, row: Found) -> str:
    """What a best response gains on the agent of a `row` of a table, a mean over the seats; nothing where nobody
    knows."""
    solved = (one for one in files if one.get("kind") == "exploitability" and _is(bound(table), one))
    agents = (one for found in solved for one in found["agents"])
    return next((signed(one["mean_loss"], 5) for one in agents if one["name"] == row["label"]), "")


def _on_strangers(files: Files, table: Found, row: Found) -> Line:
    """What the agent of a `row` of a table gains on the panel of strangers; nothing where it did not meet them."""
    game, names = bound(table), {row["label"], row.get("own_name")}
    panels = (one for one in files if one.get("kind") == "panel" and _is(game, one))
    found = next((one for panel in panels for one in panel["rows"] if one["label"] in names), None)
    return {} if found is None else {WORST: with_interval(found["worst"]["gain"]), MEAN: with_interval(found["mean"])}


def leaderboard(files: Files) -> Iterator[Line]:
    """The agents of each kind with the greatest lower ends of their intervals, game by game."""
    shown: list[Game | None] = []
    for table in tables_of(files):
        game = bound(table)
        if game not in shown:
            shown.append(game)
            for best in _best(_measured(files, game, table["against"])):
                attack = with_interval(attack_gain(files, table, best.row)) or "not attacked"
                line = _line(table, best) | {ATTACK: "no opponent" if table["sides"] == 1 else attack}
                line[BOUND] = _best_response(files, table, best.row)
                yield line | _on_strangers(files, table, best.row)


def _best(measured: Iterable[Candidate]) -> Iterator[Candidate]:
    """The best of each kind. Of an agent that was measured several times the most deals count, since the best of
    several measurements would flatter it; what only another one says of it, its cost perhaps, is kept."""
    agents: dict[str, Candidate] = {}
    for one in sorted(measured, key=lambda one: one.row.get("deals", 0)):
        name = one.row["label"]
        agents[name] = one._replace(row={**agents[name].row, **one.row}) if name in agents else one
    for kind in KINDS:
        if there := [one for one in agents.values() if one.kind == kind]:
            yield max(there, key=lambda one: one.gain.low)


def _line(found: Found, best: Candidate) -> Line:
    gain = None if best.gain is _EVEN else best.gain.to_json()
    return {
        "game": title(found),
        "options": changed(found["options"]),
        "kind": best.kind,
        "agent": f"{label(best.row)}{'' if gain else ', the baseline'}",
        "gains on the baseline": mean(gain) if gain else "",
        "95 % interval": interval(gain) if gain else "",
        "deals": f"{best.row['deals']:,}" if gain else "",
        "ms a decision": optional(best.row, "milliseconds", ".2g"),
    }


def _measured(files: Files, game: Game | None, against: str) -> Iterator[Candidate]:
    """Every agent that was measured against the best bot in a game."""
    for table in tables_of(files):
        if _is(game, table):
            gain = "lead" if table["sides"] == 1 else "mean_return"
            yield from (_candidate(row, gain, against) for row in table["rows"] if row["label"] != "random")
    for one in files:
        if one.get("kind") == "searches" and _is(game, one):
            gain, met = ("lead", "") if one["sides"] == 1 else ("mean_return", against)
            rows = (row for row in one["rows"] if row["against"] == met and row["agent"] != against)
            yield from (_candidate({**row, "label": row["agent"]}, gain, against) for row in rows)


def _is(game: Game | None, found: Found) -> bool:
    return game is not None and bound(found) == game


def _candidate(row: Mapping[str, Any], gain: str, against: str) -> Candidate:
    prefix, colon, _ = row["label"].partition(":")
    kind = "search" if prefix in _SEARCHES else prefix if colon and prefix in KINDS else "entered"
    return Candidate(kind, row, _EVEN if row["label"] == against else Estimate(**row[gain]))
