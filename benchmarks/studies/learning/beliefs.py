"""Run the program of the guide to beliefs (`docs/guides/beliefs.md`) as a reader would, and measure its log-losses.
`backalley dev study beliefs` runs it.
"""

from __future__ import annotations

from typing import Any

import torch

from ...figures import results
from .guide import code_of_the_guide
from .training_speed import GuideBeliefs


def guide_beliefs(seconds: float, *, command: str = "", **settings: Any) -> GuideBeliefs:
    """Train the guide's transformer for so many seconds of processor time, and measure it on deals of its own.
    `settings` are further fields of the page's `Args`."""
    scope: dict[str, Any] = {"__name__": "beliefs"}
    exec(compile(code_of_the_guide("beliefs.py", "beliefs.md"), "beliefs.py", "exec"), scope)
    kept = torch.get_num_threads()
    try:
        args = scope["Args"](seconds=seconds, **settings)
        network, positions = scope["train"](args)
        losses = scope["measure"](network, args)
    finally:
        torch.set_num_threads(kept)
    game, learned = scope["game_of"](args), losses["transformer"]
    rows = [
        {"name": name, "loss": float(loss.mean()), "gain": list(map(float, scope["mean_and_interval"](loss - learned)))}
        for name, loss in losses.items()
    ]
    return GuideBeliefs(
        {
            "kind": GuideBeliefs.kind,
            "command": command,
            "game": game.id,
            "options": game.changed_options,
            "seconds": seconds,
            "positions": positions,
            "deals": args.deals,
            "redraws": args.redraws,
            "rows": rows,
            "torch": torch.__version__,
            **results.stamp(__file__, game),
        }
    )
