"""Run a program of the guide to other libraries (`docs/guides/libraries.md`) as a reader would, and measure what it
reaches. `backalley dev study library` runs it, in an environment that has the library.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import NamedTuple

from backalley.console.errors import InvalidValue, NotInstalled
from backalley.envs.core.game.catalogue import game as game_of

from ...figures.formatting import Found, Line, percent, title
from ...figures.result_kinds import Files, Kept
from ...matches.evaluate import evaluate
from ..runner import finds, program_of_the_guide


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


class LibraryPPO(Kept, kind="libraries", heading="Masked PPO with other libraries", tables={"libraries": _libraries}):
    """Strength of masked PPO with other libraries, as the guide has it."""


class Library(NamedTuple):
    """A library whose program is in the guide."""

    program: str
    """The program's name in the page. It has `train(seconds, seed)`, which returns an agent."""
    packages: tuple[str, ...]
    """What it needs, as PyPI names it; the first is the library."""


LIBRARIES = {
    "torchrl": Library("torchrl_ppo.py", ("torchrl", "tensordict", "torch")),
    "tianshou": Library("tianshou_ppo.py", ("tianshou", "gymnasium", "torch")),
    "rllib": Library("rllib_ppo.py", ("ray", "gymnasium", "torch")),
}
GAME = "missouri_city"
"""What the programs learn."""


@finds(LibraryPPO, GAME)
def library_ppo(name: str, seconds: float, *, deals: int, seed: int = 0) -> Found:
    """Train with the guide's program for one of LIBRARIES, and evaluate against random play: `deals` deals, each in
    every seating. Raises ValueError for another name, and ImportError where the library is not installed."""
    if name not in LIBRARIES:
        raise InvalidValue(f"The guide has no program for {name!r}; there are: {', '.join(LIBRARIES)}.")
    library = LIBRARIES[name]
    try:
        scope = program_of_the_guide(library.program, "libraries.md")
    except ModuleNotFoundError as error:
        needed = ", ".join(library.packages)
        raise NotInstalled(
            f"{library.program} needs {needed} ({error}). Give them an environment of their own."
        ) from None
    began = time.monotonic()
    agent = scope["train"](seconds, seed)
    took, game = time.monotonic() - began, game_of(GAME)
    report = evaluate(game, [agent, "random"], deals=deals)
    versions = {package: version(package) for package in library.packages}
    about = {"game": game.id, "options": game.changed_options, "library": name, "versions": versions}
    return {**about, "seconds": took, "deals": deals, "wins": report.agents[0].win_share.to_json()}
