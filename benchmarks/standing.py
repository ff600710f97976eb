"""Ladders, cross tables and the policies that come with a game, as pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from backalley.agents.players import Corrections
from backalley.agents.policy_file import player_of
from backalley.agents.shipped import Shipped, shipped
from backalley.envs.core.base import Game

from .cells import Found, Line, changed, interval, mean, percent, title
from .report import decimals
from .stats import Estimate
from .tabular import markdown

MET = "†"
"""Stands where a policy's training met the bot that it plays."""


def ladder(files: Sequence[Found]) -> Iterator[Line]:
    """One game under each of its published options."""
    for found in files:
        for table in found["tables"]:
            yield from _rungs(table)


def ladders(files: Sequence[Found]) -> Iterator[Line]:
    """All games under their default options."""
    for found in files:
        for line in _rungs(found["tables"][0]):
            yield {"game": title(found), **line}


def _rungs(table: Found) -> Iterator[Line]:
    alone = table["sides"] == 1
    for row in table["rows"]:
        best = row["label"] == table["against"]
        measured = "mean_return" in row
        lead = row.get("lead")
        mark = MET if met(row, table["against"]) else ""
        yield {
            "options": changed(table["options"]),
            "agent": f"{label(row)}{', the measure' if best else ''} {mark}".rstrip(),
            "mean return": mean(row["mean_return"]) if measured else "",
            "95 % interval": interval(row["mean_return"]) if measured else "",
            "wins": f"{100 * row['win_share']['mean']:.2f} %" if measured else "",
            "interval": percent(row["win_share"]) if measured else "",
            "chance": "" if alone or best else f"{100 / table['sides']:.3g} %",
            "less the measure": f"{mean(lead)} ({interval(lead)})" if lead else "",
            "deals": f"{row['deals']:,}" if measured else "",
        }


def label(row: Found) -> str:
    """Agents that go by their names stand as one types them, others under their label."""
    return f"`{row['label']}`" if "made" not in row or row["label"].startswith("policy:") else row["label"]


def cross(files: Sequence[Found]) -> Iterator[Line]:
    """Who gains how much from whom: rows against columns, best first."""
    for found in files:
        agents, gains = found["agents"], {(one["agent"], one["against"]): one for one in found["standings"]}
        digits = decimals([Estimate(**one["mean_return"]) for one in found["standings"]])
        order = sorted(range(len(agents)), key=lambda number: -agents[number]["rating"]["mean"])
        for number in order:
            rating = agents[number]["rating"]
            line = {"agent": label(agents[number]), "Elo": f"{rating['mean']:.0f}"}
            for other in order:
                against = label(agents[other])
                line[f"against {against}"] = _cell(agents, gains, number, other, digits)
            yield line


def cross_wins(files: Sequence[Found]) -> Iterator[Line]:
    """Who wins how many games of whom, in the order of `cross`."""
    for found in files:
        agents, wins = found["agents"], {(one["agent"], one["against"]): one for one in found["standings"]}
        order = sorted(range(len(agents)), key=lambda number: -agents[number]["rating"]["mean"])
        for number in order:
            rating = Estimate(**agents[number]["rating"])
            line = {"agent": label(agents[number]), "Elo": f"{rating.mean:.0f} {rating.spread(0)}"}
            for other in order:
                if number == other:
                    shown = "·"
                else:
                    share = Estimate(**wins[number, other]["win_share"]).percent
                    shown = f"{share.mean:.2f} {share.spread(2)} %"
                line[f"against {label(agents[other])}"] = shown
            yield line


def _cell(agents: Sequence[Found], gains: Any, number: int, other: int, digits: int) -> str:
    if number == other:
        return "·"
    gain = Estimate(**gains[number, other]["mean_return"])
    mark = f" {MET}" if met(agents[number], agents[other]["label"]) else ""
    return f"{gain.mean:+.{digits}f} {gain.spread(digits, '+')}{mark}"


def met(row: Found, against: str) -> bool:
    """Whether the policy of a row met a bot in training."""
    return against.removeprefix("bot:") in row.get("met", ())


def notes(files: Sequence[Found]) -> list[str]:
    """What a reader of a ladder or a cross table should know of its agents, in sentences."""
    rows = [row for found in files for row in _rows(found)]
    said = [f"{label(row)}: {row['note']}" for row in rows if row.get("note")]
    if any(map(_has_marks, files)):
        said.append(f"{MET} The policy of this row met that bot in training.")
    return list(dict.fromkeys(said))


def _has_marks(found: Found) -> bool:
    """Whether a policy of a table met somebody there in training."""
    if "tables" in found:
        return any(met(row, table["against"]) for table in found["tables"] for row in table["rows"])
    labels = [row["label"] for row in found["agents"]]
    return any(met(row, label) for row in found["agents"] for label in labels)


def makers(files: Sequence[Found]) -> list[str]:
    """The commands that made the policies of these tables."""
    return [row["made"] for found in files for row in _rows(found) if "made" in row]


def _rows(found: Found) -> Iterable[Found]:
    if "tables" in found:
        return (row for table in found["tables"] for row in table["rows"])
    rows: Iterable[Found] = found["agents"]
    return rows


def policies(game: Game) -> str:
    """The policies that come with a game: what each is, for which options, and the line that makes it again."""
    found = shipped(game)
    if not found:
        return "No policy comes with this game yet."
    rows = [[f"`{one.spec}`", what(one), _trained(game, one), _served(one), _minutes(one)] for one in found]
    table = markdown(["agent", "what it is", "made for", "serves as well", "minutes of training"], rows, left=4)
    return "\n".join([table, "", "```sh", *(one.metadata["made"]["command"] for one in found), "```"])


def what(one: Shipped) -> str:
    """What a policy is, and how it learned, in a few words."""
    player, how = player_of(one.metadata), one.metadata["made"].get("algorithm", "")
    kind = player.meaning if isinstance(player, Corrections) else "learned play"
    return f"{kind} ({how})" if how else kind


def _trained(game: Game, one: Shipped) -> str:
    return changed(game.type.bind(one.metadata["options"]).changed_options) or "the default options"


def _served(one: Shipped) -> str:
    served = one.metadata["serves"].items()
    return " ".join(changed({option: value}) for option, values in served for value in values)


def _minutes(one: Shipped) -> str:
    seconds = one.metadata["made"].get("seconds")
    return f"{seconds / 60:.1f}" if isinstance(seconds, int | float) else ""
