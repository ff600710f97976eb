"""Run the program of the guide to beliefs (`docs/guides/beliefs.md`) as a reader would, and measure its log-losses.
`backalley dev study beliefs` runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...figures.formatting import Found, Line, title
from ...figures.result_kinds import Files, Kept
from ..runner import finds, program_of_the_guide


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


class GuideBeliefs(Kept, kind="beliefs", heading="Beliefs about hidden cards", tables={"beliefs": _beliefs}):
    """Log-losses of a transformer that reads events, as the guide has it."""


@finds(GuideBeliefs, "killer_bridge")
def guide_beliefs(seconds: float, *, deals: int, **settings: Any) -> Found:
    """Train the guide's transformer for so many seconds of processor time, and measure it on deals of its own.
    `settings` are further fields of the page's `Args`."""
    scope, kept = program_of_the_guide("beliefs.py", "beliefs.md"), torch.get_num_threads()
    try:
        args = scope["Args"](seconds=seconds, deals=deals, **settings)
        network, positions = scope["train"](args)
        losses = scope["measure"](network, args)
    finally:
        torch.set_num_threads(kept)
    game, learned = scope["game_of"](args), losses["transformer"]
    rows = [
        {"name": name, "loss": float(loss.mean()), "gain": list(map(float, scope["mean_and_interval"](loss - learned)))}
        for name, loss in losses.items()
    ]
    about = {"game": game.id, "options": game.changed_options, "seconds": seconds, "positions": positions}
    return {**about, "deals": args.deals, "redraws": args.redraws, "rows": rows, "torch": torch.__version__}
