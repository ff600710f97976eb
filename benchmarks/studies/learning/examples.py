"""Examples of other libraries, run on our games with the line changed that makes their environment."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click

from backalley.console.errors import InvalidValue, NotInstalled

from ...figures.formatting import Found
from ...figures.result_kinds import Columns, Kept, lines
from ..runner import FOLDER, Progress, quiet, seconds, study

_SPIEL = (
    "import pyspiel\n",
    "import backalley.openspiel, pyspiel; [backalley.openspiel.register(f'backalley.examples.{name}') "
    "for name in ('kuhn', 'leduc')]\n",
)


_NOBODY = "--num-episodes-human-play=0"


class Example(NamedTuple):
    """An example, its file's place in an installed package or below the folder of sources."""

    library: str
    file: str
    line: tuple[str, str]
    """The part of a line that makes their environment, and that of ours."""
    arguments: tuple[str, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    """What the library's release calls by another name than the file, where the file has it."""
    last: str = ""
    """Code that begins what the file only defines."""


def _of_openspiel(name: str, *arguments: str, line: tuple[str, str] = _SPIEL) -> Example:
    return Example("open_spiel", f"open_spiel/python/examples/{name}.py", line, arguments)


EXAMPLES = {
    "cfr": _of_openspiel("cfr_example", "--game=backalley_kuhn", "--iterations=21"),
    "mccfr": _of_openspiel("mccfr_example", "--game=backalley_kuhn", "--iterations=1001"),
    "deep-cfr": _of_openspiel(
        "deep_cfr_pytorch", "--game_name=backalley_kuhn", "--num_iterations=2", "--num_traversals=10"
    ),
    "nfsp": _of_openspiel(
        *("nfsp_leduc_pytorch", "--game_name=backalley_leduc", "--num_train_episodes=500", "--eval_every=250"),
        line=("from open_spiel.python import policy\n", f"from open_spiel.python import policy\n{_SPIEL[1]}"),
    ),
    "rllib": Example(
        "ray",
        "ray/rllib/examples/multi_agent/self_play_with_open_spiel.py",
        ("OpenSpielEnv(pyspiel.load_game(", "OpenSpielEnv(__import__('backalley.openspiel') and pyspiel.load_game("),
        ("--env=backalley_missouri_city", "--stop-iters=1", "--num-env-runners=1", "--num-cpus=3", _NOBODY),
    ),
    "tianshou": Example(
        "tianshou",
        "thu-ml/tianshou/test/pettingzoo/tic_tac_toe.py",
        ("from pettingzoo.classic import tictactoe_v3", "from backalley import missouri_city_v0 as tictactoe_v3"),
        ("--epoch=2", "--epoch_num_steps=300"),
        (
            ("args.test_num", "args.num_test_envs"),
            ("train_collector=", "training_collector="),
            ("test_in_train=", "test_in_training="),
        ),
        "print(train_agent()[0])",
    ),
}
"""Those that ship with their library, or (by owner and repository) are in a checkout of it."""

_COLUMNS: Columns = {
    "library": "{library}",
    "its example": "`{file}`",
    "arguments": lambda row: f"`{' '.join(row['arguments'])}`",
    "came to": lambda row: "ran" if row["ran"] else row["why"],
    "seconds": "{seconds:.0f}",
}


class OutsideExamples(
    Kept, kind="examples", heading="Examples of other libraries", tables={"examples": lines(_COLUMNS, "rows")}
):
    """Which examples ran."""

    in_title = frozenset()

    @property
    def title(self) -> str:
        """How many ran."""
        return f"{sum(row['ran'] for row in self.found['rows'])} of {len(self.found['rows'])} examples ran."

    @property
    def kept(self) -> bool:
        """Whether all did."""
        return all(row["ran"] for row in self.found["rows"])


@study(
    "examples",
    OutsideExamples,
    click.argument("names", nargs=-1),
    click.option("--sources", type=FOLDER, help="A folder with checkouts, such as thu-ml/tianshou."),
    seconds("--seconds", 300.0, "The most that an example may take."),
)
def outside_examples(
    names: tuple[str, ...], sources: Path | None, seconds: float, *, progress: Progress = quiet
) -> Found:
    """Run examples of other libraries, all by default, on our games: with the line changed that makes the environment,
    and arguments that shorten them. Their libraries have to be installed."""
    if unknown := [name for name in names if name not in EXAMPLES]:
        raise InvalidValue(f"There is no example {unknown[0]!r}; there are: {', '.join(EXAMPLES)}.")
    chosen = [EXAMPLES[name] for name in names or EXAMPLES]
    files = [file_of(one, sources) for one in chosen]
    rows = []
    for number, (one, file) in enumerate(zip(chosen, files, strict=True)):
        progress(number, len(chosen), one.library)
        about = {"library": f"{one.library} {version(one.library)}", "file": one.file, "arguments": list(one.arguments)}
        rows.append(about | ran(changed(one, file), one.arguments, seconds))
    return {"rows": rows}


def file_of(example: Example, sources: Path | None) -> Path:
    """Return an example's file. Raises NotInstalled where there is none."""
    package = find_spec(example.library)
    places = [Path(place).parent for place in (package and package.submodule_search_locations) or ()]
    for place in [*places, *([sources] if sources else [])]:
        if (place / example.file).is_file():
            return place / example.file
    raise NotInstalled(
        f"There is no {example.file}: install {example.library}, or name a folder that has it by --sources."
    )


def changed(example: Example, file: Path) -> str:
    """Return the text of an example with its line changed. Raises InvalidValue for a file without that line."""
    text, line = file.read_text("utf-8"), example.line[0]
    if line not in text:
        raise InvalidValue(f"{file} has no {line.strip()!r}: it is of another version of {example.library}.")
    for before, after in (example.line, *example.more):
        text = text.replace(before, after)
    return f"{text}\n{example.last}\n"


def ran(text: str, arguments: tuple[str, ...], seconds: float) -> dict[str, Any]:
    """Run a program in a process and a folder of its own; return whether it ended well, and the last it said if not."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "example.py").write_text(text, "utf-8")
        try:
            line = [sys.executable, "example.py", *arguments]
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
            fine, said = done.returncode == 0, done.stderr.strip().splitlines()
        except subprocess.TimeoutExpired:
            fine, said = False, [f"it had not ended after {seconds:.0f} seconds"]
    why = "" if fine else (said or ["it said nothing"])[-1][:300]
    return {"ran": fine, "why": why, "seconds": time.monotonic() - began}
