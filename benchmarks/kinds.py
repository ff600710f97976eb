"""Results of every kind as the tables and sentences that pages and reports show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from backalley.envs.core.catalogue import game as game_of

from . import comparison, costs, standing
from .cells import Found, Line, agent, given_options, interval, mean, options, percent, title
from .enumeration import Objective
from .exact import COLUMNS, GOALS, PLAYS, objective_of
from .tabular import Figures, markdown


def _strength(files: Sequence[Found]) -> Iterable[Line]:
    """A against B: what A returns and how often it wins."""
    several = len({found["game"] for found in files}) > 1
    for found in files:
        first, second = found["agents"]
        yield {
            "game": title(found) if several else "",
            "options": options(found),
            "A": agent(first),
            "B": agent(second),
            "mean return of A": mean(first["mean_return"]),
            "95 % interval": interval(first["mean_return"]),
            "wins of A": f"{100 * first['win_share']['mean']:.2f} %",
            "interval": percent(first["win_share"]),
            "chance": f"{100 / len(set(found['sides'])):.3g} %",
            "deals": f"{found['deals']:,}",
        }


def _alone(files: Sequence[Found]) -> Iterable[Line]:
    """Games of one seat: what each agent returns on the same decks."""
    several = len({found["game"] for found in files}) > 1
    for found in files:
        leads = [None, *(one["mean_return"] for one in found["differences"])]
        for one, lead in zip(found["agents"], leads, strict=True):
            yield {
                "game": title(found) if several else "",
                "options": options(found),
                "agent": agent(one),
                "mean return": mean(one["mean_return"]),
                "95 % interval": interval(one["mean_return"]),
                "wins": f"{100 * one['win_share']['mean']:.2f} %",
                "interval": percent(one["win_share"]),
                f"less {agent(found['agents'][0])}": f"{mean(lead)} ({interval(lead)})" if lead else "",
                "deals": f"{found['deals']:,}",
            }


def _exact(files: Sequence[Found]) -> Iterable[Line]:
    """Exact values, best and random play."""
    for found in files:
        goal = objective_of(found.get("objective", "reward"))
        for play in PLAYS:
            gain = found[f"{play}_return"]
            reward = {"return": f"{gain:+.9f}", "wins, a tie counting half": f"{(1 + gain) / 2:.9f}"}
            yield {
                "game": title(found),
                "options": options(found),
                "play": f"{play}, to {GOALS[goal]}" if goal else play,
                **(reward if goal == Objective.REWARD else {COLUMNS[goal]: f"{gain:.9f}"}),
                "positions": f"{found['positions']:,}",
            }


def _positions(files: Sequence[Found]) -> Iterable[Line]:
    """What every action is worth at given positions, exactly."""
    several = len({found["game"] for found in files}) > 1
    for found in files:
        best = max(found["actions"], key=lambda one: one["value"])
        for one in found["actions"]:
            yield {
                "game": title(found) if several else "",
                "options": options(found),
                "deal": f"`{found['deck']}`" if found["deck"] else "",
                "to act": found["seat"],
                "action": f"`{one['action']}`",
                COLUMNS[objective_of(found["objective"])]: f"{one['value']:+.9f}",
                "": "best" if one is best else "",
                "positions": f"{found['positions']:,}",
            }


def _gaps(files: Sequence[Found]) -> Iterable[Line]:
    """Agents beside best play, by enumeration."""
    for found in files:
        for one in found["agents"]:
            digits = 9 if not one["error"] else 6
            yield {
                "game": title(found),
                "options": options(found),
                "agent": agent(one),
                "return": f"{one['mean_return']:+.{digits}f}",
                "gap to best play": f"{one['gap']:.{digits}f}",
                "standard error at most": f"{one['error']:.1g}" if one["error"] else "",
                "positions": f"{one['positions']:,}",
            }


def _exploitability(files: Sequence[Found]) -> Iterable[Line]:
    """What agents lose to best replies, seat by seat."""
    for found in files:
        for one in found["agents"]:
            yield {
                "game": title(found),
                "options": options(found),
                "agent": agent(one),
                **{f"loses as {seat}": f"{loss:.6f}" for seat, loss in zip(found["seats"], one["losses"], strict=True)},
                "on average": f"{one['mean_loss']:.6f}",
                "in equilibrium the first gains": f"{sum(found['value'].values()) / 2:+.6f}",
            }


def _speed(files: Sequence[Found]) -> Iterable[Line]:
    """Millions of decisions a second, and the rest of what `speed` measures."""
    for game in (game for found in files for game in found["games"]):
        yield {
            "game": title(game),
            **{
                _tables(entry): f"{entry['median'] / 1e6:.2f}"
                for entry in game["batch"]
                if entry["threads"] == 1 or entry["tables"] == 4096
            },
            "AEC loop, thousands": f"{game['aec']['median'] / 1e3:.0f}",
            "search playouts, thousands": f"{game['playouts']['median'] / 1e3:,.0f}",
            "first step ever": f"{game['seconds_to_first_step']['cold']['first_step']:.1f} s",
            "in a later process": f"{game['seconds_to_first_step']['warm']['first_step']:.1f} s",
        }


def _tables(entry: Found) -> str:
    threads = "" if entry["threads"] == 1 else f" on {entry['threads']} threads"
    return f"{entry['tables']:,} table{'' if entry['tables'] == 1 else 's'}{threads}"


def _size(files: Sequence[Found]) -> Iterable[Line]:
    """One game under options that change its size: bytes, as they are now, and millions of decisions a second on one
    thread."""
    for found in files:
        (measured,) = found["games"]
        game = game_of(measured["game"]).bind(dict(given.split("=", 1) for given in given_options(found)))
        yield {
            "options": options(found),
            "state, bytes": f"{game.state_dtype.itemsize:,}",
            "observation, bytes": f"{game.observation_dtype.itemsize:,}",
            **{
                f"millions of decisions a second, {_tables(entry)}": f"{entry['median'] / 1e6:.1f}"
                for entry in measured["batch"]
                if entry["threads"] == 1
            },
        }


def _pace(files: Sequence[Found]) -> str:
    """The slowest and the fastest game of a speed file, in a sentence."""
    paces = {
        title(game): entry["median"]
        for found in files
        for game in found["games"]
        for entry in game["batch"]
        if (entry["tables"], entry["threads"]) == (4096, 1)
    }
    slowest, fastest = (choose(paces, key=lambda title: paces[title]) for choose in (min, max))
    return (
        f"{paces[slowest] / 1e6:.1f} ({slowest}) to {paces[fastest] / 1e6:.1f} ({fastest}) million decisions a second "
        f"on one core of an {files[0]['machine']['processor']}, each with observation and mask written."
    )


def _endurance(files: Sequence[Found]) -> Iterable[Line]:
    """What was played with every promise checked."""
    for game in (game for found in files for game in found["games"]):
        yield {
            "game": title(game),
            **({"sets of options": f"{len(game['sets'])}"} if "sets" in game else {}),
            "decisions": f"{game['decisions']:,}",
            "episodes": f"{game['episodes']:,}",
            "seconds": f"{game['seconds']:.0f}",
        }


def _throughput(files: Sequence[Found]) -> Iterable[Line]:
    """How fast the phases of training are, and MaskablePPO with its defaults."""
    for found in files:
        for row in found["rows"]:
            pace = {f"{name} a second": f"{number:,.0f}" for name, number in row["per_second"].items()}
            name = "`MaskablePPO`, its defaults" if row["phase"] == "sb3" else f"`{row['phase']}`"
            yield {"game": title(found), "phase": name, "threads": f"{row['threads']}", **pace}


def _training_pace(files: Sequence[Found]) -> str:
    """How many times as fast PPO here is as Stable-Baselines3 as it comes, in a sentence."""
    (found,) = files
    samples = {row["phase"]: row["per_second"]["samples"] for row in found["rows"]}
    return (
        f"At {title(found)} PPO here learns from {samples['ppo'] / samples['sb3']:.0f} times as many samples a second "
        f"as `sb3_contrib.MaskablePPO` with its defaults, side by side on one {found['machine']['processor']}."
    )


KINDS: dict[str, Callable[[Sequence[Found]], Iterable[Line] | str]] = {
    "strength": _strength,
    "alone": _alone,
    "exact": _exact,
    "positions": _positions,
    "gaps": _gaps,
    "exploitability": _exploitability,
    "speed": _speed,
    "size": _size,
    "pace": _pace,
    "endurance": _endurance,
    "training_pace": _training_pace,
    "throughput": _throughput,
    "ladder": standing.ladder,
    "ladders": standing.ladders,
    "cross": standing.cross,
    "cross_wins": standing.cross_wins,
    "searches": costs.searches,
    "crowds": costs.crowds,
    "methods": comparison.methods,
    "methods_means": comparison.methods_means,
    "beginnings": comparison.beginnings,
}
"""The kinds of tables, and of sentences, by name."""
MADE_BY = {
    kind: f"python -m backalley.{module}"
    for kind, module in (
        ("ladder", "benchmarks.ladder"),
        ("ladders", "benchmarks.ladder"),
        ("cross", "benchmarks.cross"),
        ("searches", "benchmarks.searches"),
        ("crowds", "benchmarks.crowds"),
        ("throughput", "training.throughput"),
        ("methods", "training.methods"),
    )
}
"""Kinds whose files one command makes for any game: a page may ask for them before they are measured."""
_STANDINGS = ("ladder", "ladders", "cross")
NOTES: dict[str, Callable[[Sequence[Found]], list[str]]] = {
    **dict.fromkeys(_STANDINGS, standing.notes),
    "methods": comparison.notes,
    "methods_means": comparison.notes,
    "searches": costs.notes,
}
"""What a reader should know of tables of a kind."""
_WORDS = {"game", "options", "A", "B", "agent", "against", "alone", "play", "trainer", "phase", "way to train", "seed"}
_WORDS |= {"deal", "to act", "action"}
"""Columns that stand to the left; the others are numbers."""


def figures(kind: str, files: Sequence[Found]) -> Figures | str:
    """What these files say, as a table with its notes, or as a sentence. Cells are Markdown."""
    made = KINDS[kind](files)
    if isinstance(made, str):
        return made
    lines = list(made)
    names = dict.fromkeys(name for line in lines for name in line)
    head = [name for name in names if any(line.get(name) for line in lines)]
    left = next((number for number, name in enumerate(head) if name not in _WORDS), len(head))
    rows = [[line.get(name, "") for name in head] for line in lines]
    notes = NOTES[kind](files) if kind in NOTES else []
    return Figures("", head, rows, notes, left)


def commands(kind: str, files: Sequence[Found]) -> list[str]:
    """The lines that made these files, and the policies in them."""
    more = standing.makers(files) if kind in _STANDINGS else []
    return list(dict.fromkeys([*(found["command"] for found in files), *more]))


def table(kind: str, files: Sequence[Found]) -> str:
    """The part of a page that shows these files: a table and the commands behind it, or a sentence."""
    shown = figures(kind, files)
    if isinstance(shown, str):
        return shown
    lines = "\n".join(["```sh", *commands(kind, files), "```"])
    parts = [markdown(shown.head, shown.rows, left=shown.left), "\n".join(shown.notes), lines]
    return "\n\n".join(part for part in parts if part)
