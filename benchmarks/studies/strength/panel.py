"""What the best bot, the policy and searches of a game gain on each of a panel of strangers, at worst and in the mean.

Decks and seed are those of publication, on which nothing trains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from backalley.agents.base.agent import name_of
from backalley.agents.registry import agent as agent_of
from backalley.cli.shared import threads_option
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game

from ...figures.formatting import Line, changed, interval, mean, percent, title
from ...figures.result_kinds import Files, Kept
from ...figures.stats import Estimate
from ...matches.evaluate import evaluate
from ...matches.seeding import Space
from .. import publication
from ..runner import GAMES, Progress, Row, count, quiet, study, words
from .ladder import close
from .strangers import strangers


def _rows(files: Files) -> Iterator[Line]:
    """Each agent against each stranger."""
    for found in files:
        for row in found["rows"]:
            for one in row["met"]:
                yield _line(found, row, one["gain"]) | {
                    "against": one["against"],
                    "wins": f"{100 * one['wins']['mean']:.1f} %",
                    "interval": percent(one["wins"]),
                }


def _summary(files: Files) -> Iterator[Line]:
    """Each agent's worst and mean gain."""
    for found in files:
        for row in found["rows"]:
            worst = row["worst"]
            line = _line(found, row, worst["gain"]) | {"against": worst["against"], "mean gain": mean(row["mean"])}
            yield line | {"its 95 % interval": interval(row["mean"]), "strangers": str(len(row["met"]))}


def _line(found: Mapping[str, Any], row: Mapping[str, Any], gain: Mapping[str, float]) -> Line:
    about = {"game": title(found), "options": changed(found["options"]), "agent": f"`{row['label']}`", "against": ""}
    return about | {"gain": mean(gain), "95 % interval": interval(gain), "deals": f"{found['deals']:,}"}


class Panel(Kept, kind="panel", heading="Strangers", tables={"panel_worst": _summary, "panel": _rows}):
    """What `panel` found."""

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Return how the interval of a mean is made."""
        return ["The interval of a mean is as wide as those of the strangers on average: decks are the same."]


@study(
    "panel",
    Panel,
    GAMES,
    count("--deals", 2_000, "Deals of each pairing, in every seating."),
    words("--search", "", "Searches to measure besides, by their names with commas between."),
    threads_option,
    file="panel_{game}",
)
def panel(
    game: Game, deals: int = 2_000, search: tuple[str, ...] = (), *, num_threads: int = 1, progress: Progress = quiet
) -> Row:
    """Play the best bot and the policy of each of GAMES against a panel of strangers, whom no training meets.

    Raises ValueError for a game in which nobody plays against anybody.
    """
    if game.num_sides < 2:
        raise InvalidValue(f"In {game.name} nobody plays against anybody; a panel takes games with several sides.")
    labels = [publication.several(game).against, *filter(None, [publication.policy_of(game)]), *search]
    rows: list[Row] = []
    met = strangers(game, num_threads=num_threads)
    for number, label in enumerate(labels):
        progress(number, len(labels), label)
        player = agent_of(label, game, num_threads=num_threads)
        try:
            rows.append({"label": label, **_measured(game, player, met, deals, num_threads)})
        finally:
            close([player])
    close(met)
    return {"deals": deals, "seed": publication.seed(), "rows": rows}


def _measured(game: Game, player: Any, met: list[Any], deals: int, num_threads: int) -> Row:
    """What one agent gains on each stranger, on the worst for it, and in the mean."""
    more: dict[str, Any] = {"deals": deals, "seed": publication.seed(), "space": Space.PUBLICATION}
    pairs: list[tuple[str, Estimate, Estimate]] = []
    for one in met:
        first = evaluate(game, [player, one], num_threads=num_threads, **more).agents[0]
        pairs.append((name_of(one), first.mean_return, first.win_share))
    against, worst, _ = min(pairs, key=lambda pair: pair[1].mean)
    whole = Estimate(*(float(one) for one in np.mean([pair[1] for pair in pairs], axis=0)))
    return {
        "met": [{"against": name, "gain": gain.to_json(), "wins": wins.to_json()} for name, gain, wins in pairs],
        "worst": {"against": against, "gain": worst.to_json()},
        "mean": whole.to_json(),
    }
