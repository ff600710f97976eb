"""Tables of training speed; `throughput.py` measures it."""

from __future__ import annotations

from collections.abc import Iterator

from ...figures.charts import Lines, axes_of
from ...figures.formatting import Line, percent, title
from ...figures.result_kinds import Files, Kept
from ...figures.stats import Estimate


def _throughput(files: Files) -> Iterator[Line]:
    """How fast the phases of training are, and MaskablePPO with its defaults."""
    for found in files:
        for row in found["rows"]:
            pace = {f"{name} a second": f"{number:,.0f}" for name, number in row["per_second"].items()}
            name = "`MaskablePPO`, its defaults" if row["phase"] == "sb3" else f"`{row['phase']}`"
            line = {"game": title(found), "phase": name, "threads": f"{row['threads']}", **pace}
            if "serial_share" in row:
                line |= {"times one thread": f"{row['times_one_thread']:.2f}", "serial": f"{row['serial_share']:.1%}"}
                line |= {f"{cores} cores": f"{times:.1f}" for cores, times in row["predicted"].items()}
            yield line


def _beside_sb3(files: Files) -> str:
    """How many times as fast PPO here is as Stable-Baselines3 with its defaults, in a sentence."""
    (found,) = files
    samples = {row["phase"]: row["per_second"]["samples"] for row in found["rows"] if row["threads"] == 1}
    return (
        f"At {title(found)} PPO here learns from {samples['ppo'] / samples['sb3']:.0f} times as many samples a second "
        f"as `sb3_contrib.MaskablePPO` with its defaults, side by side on one {found['machine']['processor']}."
    )


class Throughput(
    Kept,
    kind="throughput",
    heading="Throughput of training",
    tables={"throughput": _throughput, "training_pace": _beside_sb3},
    made_by="backalley dev study throughput",
):
    """Rates of the phases of training."""


def _learned(files: Files) -> Iterator[Line]:
    """What the guide's learner wins after so many samples."""
    for found in files:
        for point in found["points"]:
            yield {
                "game": title(found),
                "samples, millions": f"{point['samples'] / 1e6:.1f}",
                "seconds": f"{point['seconds']:.0f}",
                **{
                    column: text
                    for name, share in point["wins"].items()
                    for column, text in (
                        (f"wins against `{name}`", f"{100 * share['mean']:.1f} %"),
                        (f"interval against `{name}`", percent(share)),
                    )
                },
            }


def _learner_paces(files: Files) -> Iterator[Line]:
    """How many samples a second the guide's learner plays and learns from."""
    for found in files:
        for row in found["paces"]:
            yield {
                "game": title(found),
                "threads": f"{row['threads']}",
                "samples a second": f"{row['samples_per_second']:,.0f}",
                "slowest and fastest turn": f"{row['low']:,.0f} to {row['high']:,.0f}",
                "samples a second of processor time": f"{row['samples_per_processor_second']:,.0f}",
            }


class GuidePPO(
    Kept,
    kind="guide_ppo",
    heading="The learner of the guide to PPO",
    tables={"guide_ppo": _learned, "guide_ppo_pace": _learner_paces},
    made_by="backalley dev study ppo",
):
    """Strength and speed of a learner of one's own, as the guide has it."""

    brief = frozenset({"guide_ppo_pace"})

    @classmethod
    def charts(cls, files: Files) -> Iterator[Lines]:
        """Wins by samples, a line for each opponent."""
        for found in files:
            lines = [
                (name, [(point["samples"] / 1e6, Estimate(**point["wins"][name]).percent) for point in found["points"]])
                for name in found["points"][0]["wins"]
            ]
            about = f"{found['deals']:,} deals each, in every seating; 95 % intervals"
            axes = axes_of(lines, None, log=False)
            yield Lines(f"{title(found)}: wins of the guide's PPO", about, "millions of samples", lines, axes)


def _libraries(files: Files) -> Iterator[Line]:
    """What the guide's programs for other libraries win against random play."""
    for found in files:
        first, *rest = found["versions"].items()
        yield {
            "library": " ".join(first),
            "with": ", ".join(" ".join(one) for one in rest),
            "game": title(found),
            "seconds": f"{found['seconds']:.0f}",
            "wins against `random`": f"{100 * found['wins']['mean']:.1f} %",
            "interval": percent(found["wins"]),
            "deals": f"{found['deals']:,}",
        }


class LibraryPPO(
    Kept,
    kind="libraries",
    heading="Masked PPO with other libraries",
    tables={"libraries": _libraries},
):
    """Strength of masked PPO with other libraries, as the guide has it."""


def _beliefs(files: Files) -> Iterator[Line]:
    """How well the guide's transformer tells who holds the cards that a seat cannot see."""
    for found in files:
        for row in found["rows"]:
            mean, low, high = row["gain"]
            bar = row["name"] != "transformer"
            yield {
                "game": title(found),
                "who holds each unseen card, by": row["name"],
                "log-loss, nats a card": f"{row['loss']:.4f}",
                "the transformer gains": f"{mean:.4f}" if bar else "",
                "interval over deals": f"{low:.4f} to {high:.4f}" if bar else "",
            }


class GuideBeliefs(
    Kept,
    kind="beliefs",
    heading="Beliefs about hidden cards",
    tables={"beliefs": _beliefs},
    made_by="backalley dev study beliefs",
):
    """Log-losses of a transformer that reads events, as the guide has it."""
