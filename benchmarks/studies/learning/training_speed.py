"""Tables of training speed; `throughput.py` measures it."""

from __future__ import annotations

from collections.abc import Iterator

from ...figures.formatting import Line, title
from ...figures.result_kinds import Files, Kept


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
):
    """Rates of the phases of training."""
