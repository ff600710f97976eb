"""Run the programs of the guides as a reader would, and measure what they reach: the learner of `ppo.md`, its speed and
strength; the programs of `libraries.md`, each in an environment that has the library; the transformer of `beliefs.md`
and its log-losses; that of `learning.md`, from its training to an attack."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import torch

from backalley.agents.policies.network import one_thread
from backalley.cli.shared import threads_option
from backalley.console.errors import InvalidValue, NotInstalled
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game

from ...figures.charts import Lines, axes_of
from ...figures.formatting import Found, Line, interval, mean, percent, title
from ...figures.result_kinds import Columns, Files, Kept, lines
from ...figures.stats import Estimate
from ...matches.evaluate import evaluate
from ..runner import GAME, Progress, count, quiet, seconds, study

_GUIDES = Path(__file__).resolve().parents[3] / "docs" / "guides"
_TURNS, _TURN_SAMPLES = 5, 1_000_000
LIBRARIES = {
    "torchrl": ("torchrl", "tensordict", "torch"),
    "tianshou": ("tianshou", "gymnasium", "torch"),
    "rllib": ("ray", "gymnasium", "torch"),
}
"""The libraries whose programs (`torchrl_ppo.py` and so on) are in the guide, and the packages that these need, as PyPI
names them, the library first. A program has `train(seconds, seed)`, which returns an agent."""
LEARNED = "missouri_city"
"""What those programs learn."""


def code_of_the_guide(program: str = "ppo.py", page: str = "ppo.md") -> str:
    """Return a program of a guide: the example after its name. Raises InvalidValue outside a checkout, which has the
    pages."""
    path = _GUIDES / page
    if not path.is_file():
        raise InvalidValue(f"There is no {path}: only a checkout of the repository has the guide.")
    after = rf"`{re.escape(program)}`:\n\n(?:<!-- needs: [\w.]+ -->\n)?```python\n(.*?)```"
    (code,) = re.findall(after, path.read_text("utf-8"), re.DOTALL)
    return str(code)


def program_of_the_guide(program: str = "ppo.py", page: str = "ppo.md") -> dict[str, Any]:
    """Run a program of a guide; return its names."""
    scope: dict[str, Any] = {"__name__": program.removesuffix(".py")}
    exec(compile(code_of_the_guide(program, page), program, "exec", dont_inherit=True), scope)
    return scope


# PPO ------------------------------------------------------------------------------------------------------------------


def _learned(files: Files) -> Iterator[Line]:
    """What the guide's learner wins after so many samples."""
    for point in ({**found, **point} for found in files for point in found["points"]):
        line = {"game": title(point), "samples, millions": f"{point['samples'] / 1e6:.1f}"}
        line["seconds"] = f"{point['seconds']:.0f}"
        for name, share in point["wins"].items():
            line[f"wins against `{name}`"] = f"{100 * share['mean']:.1f} %"
            line[f"interval against `{name}`"] = percent(share)
        yield line


_PACES: Columns = {
    "game": title,
    "threads": "{threads}",
    "samples a second": "{samples_per_second:,.0f}",
    "slowest and fastest turn": "{low:,.0f} to {high:,.0f}",
    "samples a second of processor time": "{samples_per_processor_second:,.0f}",
}


class GuidePPO(
    Kept,
    kind="guide_ppo",
    heading="The learner of the guide to PPO",
    tables={"guide_ppo": _learned, "guide_ppo_pace": lines(_PACES, "paces")},
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


@study(
    "ppo", GuidePPO, GAME, count("--samples", 24_000_000, "Decisions to learn from."), threads_option,
    file="ppo_{game}",
)  # fmt: skip
def guide_ppo(
    game: Game,
    samples: int,
    threads: int,
    *,
    settings: Mapping[str, Any] | None = None,
    turn_samples: int = _TURN_SAMPLES,
    progress: Progress = quiet,
) -> Found:
    """Run the program of docs/guides/ppo.md on GAME: its samples a second on one thread and on all, and its wins.

    Samples a second are medians of some turns on each number of threads, in alternating order: by the clock, which is
    what a reader waits, and by processor time, which other load on the machine disturbs less. Evaluations on the way
    are not counted. `settings` are fields of the page's `Args`. Raises ValueError for a game under changed options,
    which the program does not take.
    """
    if game.changed_options:
        raise InvalidValue(f"The guide's program takes a game by its name, without options; {game!r} has some.")
    scope, given = program_of_the_guide(), {"game": game.name, **(settings or {})}
    numbers = sorted({1, threads})
    work = samples + (1 + _TURNS) * len(numbers) * turn_samples
    with one_thread():  # the program sets torch's number itself
        paces, done = _paces(scope, given, numbers, turn_samples, lambda done, words: progress(done, work, words))
        args = scope["Args"](**given, samples=samples, threads=threads)
        points = []
        for found in scope["train"](args):
            points.append(_point(found))
            progress(done + found["samples"], work, f"{found['samples']:,} samples")
    return {"threads": threads, "deals": args.deals, "paces": paces, "points": points, "torch": torch.__version__}


def _paces(
    scope: Mapping[str, Any],
    given: Mapping[str, Any],
    threads: Sequence[int],
    samples: int,
    said: Callable[[float, str], None],
) -> tuple[list[dict[str, Any]], int]:
    """Samples a second on each number of threads, and the samples taken for it. The first turn compiles, and does not
    count."""
    turns: dict[int, list[tuple[float, float]]] = {number: [] for number in threads}
    done = 0
    for turn in range(1 + _TURNS):
        for number in threads[:: 1 if turn % 2 else -1]:
            short = {**given, "samples": samples, "threads": number, "evaluations": 1, "opponents": ()}
            began = time.process_time()
            (reached,) = scope["train"](scope["Args"](**short))
            spent = reached["seconds"], time.process_time() - began
            done += samples
            said(done, f"{number} thread{'s' * (number > 1)}")
            if turn:
                turns[number].append((reached["samples"] / spent[0], reached["samples"] / spent[1]))
    return [_pace(number, *zip(*taken, strict=True)) for number, taken in turns.items()], done


def _pace(threads: int, by_clock: Sequence[float], by_processor: Sequence[float]) -> dict[str, Any]:
    return {
        "threads": threads,
        "samples_per_second": statistics.median(by_clock),
        "low": min(by_clock),
        "high": max(by_clock),
        "samples_per_processor_second": statistics.median(by_processor),
    }


def _point(found: Mapping[str, Any]) -> dict[str, Any]:
    wins = {name: share.to_json() for name, share in found["wins"].items()}
    return {"samples": found["samples"], "seconds": found["seconds"], "wins": wins}


# Other libraries ------------------------------------------------------------------------------------------------------


_LIBRARIES: Columns = {
    "library": lambda found: " ".join(next(iter(found["versions"].items()))),
    "with": lambda found: ", ".join(map(" ".join, list(found["versions"].items())[1:])),
    "game": title,
    "seconds": "{seconds:.0f}",
    "wins against `random`": lambda found: f"{100 * found['wins']['mean']:.1f} %",
    "interval": lambda found: percent(found["wins"]),
    "deals": "{deals:,}",
}


class LibraryPPO(
    Kept, kind="libraries", heading="Masked PPO with other libraries", tables={"libraries": lines(_LIBRARIES)}
):
    """Strength of masked PPO with other libraries, as the guide has it."""


@study(
    "library", LibraryPPO, click.argument("name"), seconds("--seconds", 100.0, ""), count("--deals", 5_000, "", 2),
    file="library_{name}", of=[LEARNED],
)  # fmt: skip
def library_ppo(name: str, seconds: float, *, deals: int, seed: int = 0) -> Found:
    """Train with the program of docs/guides/libraries.md for NAME (torchrl, tianshou or rllib), which has to be
    installed, and evaluate it against random play."""
    if name not in LIBRARIES:
        raise InvalidValue(f"The guide has no program for {name!r}; there are: {', '.join(LIBRARIES)}.")
    program, packages = f"{name}_ppo.py", LIBRARIES[name]
    try:
        scope = program_of_the_guide(program, "libraries.md")
    except ModuleNotFoundError as error:
        needed = ", ".join(packages)
        raise NotInstalled(f"{program} needs {needed} ({error}). Give them an environment of their own.") from None
    began = time.monotonic()
    agent = scope["train"](seconds, seed)
    took, game = time.monotonic() - began, game_of(LEARNED)
    report = evaluate(game, [agent, "random"], deals=deals)
    versions = {package: version(package) for package in packages}
    about = {"game": game.id, "options": game.changed_options, "library": name, "versions": versions}
    return {**about, "seconds": took, "deals": deals, "wins": report.agents[0].win_share.to_json()}


# Beliefs --------------------------------------------------------------------------------------------------------------


def _gained(template: str) -> Callable[[Found], str]:
    """What the transformer gains on another player."""
    return lambda row: "" if row["name"] == "transformer" else template.format(*row["gain"])


_BELIEFS: Columns = {
    "game": title,
    "who holds each unseen card, by": "{name}",
    "log-loss, nats a card": "{loss:.4f}",
    "the transformer gains": _gained("{0:.4f}"),
    "interval over deals": _gained("{1:.4f} to {2:.4f}"),
}


class GuideBeliefs(
    Kept, kind="beliefs", heading="Beliefs about hidden cards", tables={"beliefs": lines(_BELIEFS, "rows")}
):
    """Log-losses of a transformer that reads events, as the guide has it."""


@study(
    "beliefs", GuideBeliefs, seconds("--seconds", 120.0, ""), count("--deals", 2048, "", 2), file="beliefs",
    of=["killer_bridge"],
)  # fmt: skip
def guide_beliefs(seconds: float, *, deals: int, **settings: Any) -> Found:
    """Train the transformer of docs/guides/beliefs.md for so many seconds of processor time, and measure it.

    Deals are its own. `settings` are further fields of the page's `Args`.
    """
    scope = program_of_the_guide("beliefs.py", "beliefs.md")
    with one_thread():
        args = scope["Args"](seconds=seconds, deals=deals, **settings)
        network, positions = scope["train"](args)
        losses = scope["measure"](network, args)
    game, learned = scope["game_of"](args), losses["transformer"]
    rows = [
        {"name": name, "loss": float(loss.mean()), "gain": list(map(float, scope["mean_and_interval"](loss - learned)))}
        for name, loss in losses.items()
    ]
    about = {"game": game.id, "options": game.changed_options, "seconds": seconds, "positions": positions}
    return {**about, "deals": args.deals, "redraws": args.redraws, "rows": rows, "torch": torch.__version__}


# From training to an attack -------------------------------------------------------------------------------------------

_LEDUC = "backalley.examples.leduc"
_WAY: Columns = {
    "game": title,
    "decisions learned from": "{decisions:,}",
    "return against `random`": lambda found: mean(found["evaluate"]["mean_return"]),
    "its interval": lambda found: interval(found["evaluate"]["mean_return"]),
    "loses to a best response": "{exploit[mean_loss]:.3f}",
    "`random` loses": "{random[mean_loss]:.3f}",
    "the best attacker gains": lambda found: mean(found["attack"]["gain"]),
    "interval of that": lambda found: interval(found["attack"]["gain"]),
}


class GuideAttention(Kept, kind="attention", heading="A transformer over events", tables={"attention": lines(_WAY)}):
    """A network of one's own that reads events, as the guide has it: learned, played, exploited and attacked."""


@study(
    "attention", GuideAttention, count("--decisions", 600_000, "To learn from."),
    count("--attack", 60_000, "Decisions of all attackers."), file="attention", of=[_LEDUC],
)  # fmt: skip
def guide_attention(decisions: int, attack: int, *, progress: Progress = quiet) -> Found:
    """Run the commands of docs/guides/learning.md for a transformer over events, on Leduc poker."""
    player, found, game = "attention.py:policy:run", dict[str, Any](), game_of(_LEDUC)
    steps = {
        "train": ["--phase-module=attention", "--set=run.phases=attention:0.5,attention", f"--decisions={decisions}"],
        "evaluate": [player, "random"],
        "exploit": [player, "random"],
        "attack": [player, f"--decisions={attack}"],
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "attention.py").write_text(code_of_the_guide("attention.py", "learning.md"), "utf-8")
        for number, (name, words) in enumerate(steps.items()):
            progress(number, len(steps), name)
            more = ["--out", "run"] if name == "train" else ["--json", f"{name}.json"]
            line = [sys.executable, "-m", "backalley", name, _LEDUC, *words, *more]
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise InvalidValue(f"{name} ended with: {done.stderr.strip().splitlines()[-1]}")
            if name != "train":
                found[name] = read_json(Path(folder) / f"{name}.json")
    exploited, by_chance = found["exploit"]["agents"]
    best = max(found["attack"]["attackers"], key=lambda one: one["gain"]["low"])
    about = {"game": game.id, "options": game.changed_options, "decisions": decisions, "torch": torch.__version__}
    return about | {
        "evaluate": found["evaluate"]["agents"][0],
        "exploit": exploited,
        "random": by_chance,
        "attack": {name: best[name] for name in ("name", "gain", "deals")},
    }
