"""Other libraries' card games beside ours, in one run.

Every library is installed by pip into a virtual environment of its own, in a folder that is kept, and plays random
legal actions there on one core, with the observation and the legal actions of the seat to act produced at every
decision. Rates are decisions a second of processor time. What cannot be installed, or played, is named with the reason.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from backalley import __version__
from backalley.console.errors import InvalidValue, did_you_mean
from backalley.envs.core.files.durable import write_file

from ...figures.formatting import Found, Line
from ...figures.result_kinds import Files, Kept
from ..runner import FOLDER, Progress, quiet, seconds, study

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[2]
_INSTALLED = "installed.json"
"""In an environment's folder: its versions, once everything is installed."""
_LONGEST = 1800
"""Seconds that an installation or a library's games may take."""


class Peer(NamedTuple):
    """A library, how it is installed, and how its games are played."""

    title: str
    packages: tuple[str, ...]
    """What pip is asked for; the first is the library itself."""
    way: str


PEERS = {
    "open_spiel": Peer("OpenSpiel", ("open_spiel",), "Python API, NumPy observer"),
    "rlcard": Peer("RLCard", ("rlcard",), "`env.step`"),
    "pettingzoo": Peer("PettingZoo classic", ("pettingzoo[classic]",), "`env()`, the AEC loop"),
    "pgx": Peer("PGX", ("pgx", "jax"), "compiled scan, best batch of 64, 1,024 and 8,192"),
    "pufferlib": Peer("PufferLib", ("pufferlib",), "1,024 tables in C, no action masks"),
}
OURS = {"batch": "`make_vec`, 4,096 tables", "aec": "`make`, the AEC loop"}


def _lines(files: Files) -> Iterator[Line]:
    """Thousands of decisions a second of every game, fastest first."""
    for found in files:
        for peer in found["peers"]:
            paces = sorted(peer.get("games", ()), key=lambda one: -one["median"])
            if paces:
                yield {
                    "library": f"{peer['title']} {peer['version']}",
                    "played through": peer["way"],
                    "thousands of decisions a second": ", ".join(
                        f"{one['game']} {_thousands(one['median'])}" for one in paces
                    ),
                }


def _beside(files: Files) -> Iterator[Line]:
    """The slowest and the fastest game of each library."""
    for peer in (peer for found in files for peer in found["peers"]):
        if paces := sorted(peer.get("games", ()), key=lambda one: one["median"]):
            slow, fast = (f"{_thousands(one['median'])} ({one['game']})" for one in (paces[0], paces[-1]))
            yield {
                "library": f"{peer['title']} {peer['version']}",
                "played through": peer["way"],
                "thousands of decisions a second": f"{slow} to {fast}",
            }


def _thousands(pace: float) -> str:
    return f"{pace / 1000:,.0f}" if pace >= 10_000 else f"{pace / 1000:.1f}"


class Peers(Kept, kind="peers", heading="Other libraries", tables={"peers": _lines, "beside": _beside}):
    """Rates of every library's games."""

    brief = frozenset({"beside"})

    says = "Random legal play on one core, observations and legal actions produced, by processor time"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Name what could not be installed or played, with the reason."""
        said = []
        for peer in (peer for found in files for peer in found["peers"]):
            if "absent" in peer:
                said.append(f"{peer['title']} is not in the table: {peer['absent']}")
            said += [f"{peer['title']}: {one['game']} failed: {one['failed']}" for one in peer.get("failed", ())]
        return said


@study(
    "peers",
    Peers,
    click.argument("names", nargs=-1, metavar="[LIBRARY]..."),
    click.option("--folder", type=FOLDER, help="Of the libraries' environments: gigabytes; by default in your cache."),
    seconds("--seconds", 1.0, "Processor time of each of three repetitions of a game."),
)
def peers(names: Sequence[str], folder: Path | None, *, seconds: float, progress: Progress = quiet) -> Found:
    """Measure the card games of other libraries, by default all that pip can install here, beside ours. LIBRARY is
    open_spiel, rlcard, pettingzoo, pgx or pufferlib.

    Environments stay in `folder` and are used again. Raises ValueError for an unknown name.
    """
    for name in names:
        if name not in PEERS:
            known = did_you_mean(name, PEERS) or f" There are: {', '.join(PEERS)}."
            raise InvalidValue(f"There is no peer {name!r}.{known}")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    chosen, found, folder = list(names or PEERS), _ours(seconds), folder or cache / "backalley-peers"
    for number, name in enumerate(chosen):
        progress(number, len(chosen), name)
        found.append(_measured(PEERS[name], name, folder / name, seconds))
    return {"seconds": seconds, "peers": found}


def _ours(seconds: float) -> list[dict[str, Any]]:
    """Our own games, a row for each way."""
    games, _ = _play(Path(sys.executable), "backalley", seconds, _ROOT / "src")
    every = [(*one["game"].split(), one) for one in games]
    return [
        {
            "title": "Back Alley",
            "version": __version__,
            "way": said,
            "games": [{**one, "game": name} for name, its_way, one in every if its_way == way],
        }
        for way, said in OURS.items()
    ]


def _measured(peer: Peer, name: str, place: Path, seconds: float) -> dict[str, Any]:
    """One library: its version and its games' rates, or why there are none."""
    about: dict[str, Any] = {"title": peer.title, "way": peer.way}
    try:
        versions = _install(peer, place)
        games, failed = _play(_python(place), name, seconds)
    except _Absent as error:
        return {**about, "absent": str(error)}
    best = {one["game"]: one for one in sorted(games, key=lambda one: float(one["median"]))}  # the last counts
    row = {**about, "version": versions[_plain(peer.packages[0])], "packages": versions, "games": list(best.values())}
    return {**row, "failed": failed} if failed else row


class _Absent(Exception):
    """Why a library has no rates."""


def _install(peer: Peer, place: Path) -> dict[str, str]:
    """Make the environment, if it is not there; return the versions of what pip was asked for."""
    if (place / _INSTALLED).is_file():
        known: dict[str, str] = json.loads((place / _INSTALLED).read_text("utf-8"))
        return known
    _call([sys.executable, "-m", "venv", "--clear", str(place)], "an environment for it could not be made")
    pip = [str(_python(place)), "-m", "pip", "--disable-pip-version-check"]
    _call([*pip, "install", "--quiet", "--no-cache-dir", *peer.packages], "pip could not install it here")
    listed = json.loads(_call([*pip, "list", "--format=json"], "pip could not list it"))
    asked = {*map(_plain, peer.packages)}
    versions = {_plain(one["name"]): one["version"] for one in listed if _plain(one["name"]) in asked}
    write_file(place / _INSTALLED, json.dumps(versions).encode())
    return versions


def _plain(package: str) -> str:
    """A package's name, without its extras, as pip compares it."""
    return re.sub(r"[-_.]+", "-", package.partition("[")[0]).lower()


def _python(place: Path) -> Path:
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _play(
    python: Path, name: str, seconds: float, path: Path | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Run `pace.py`; return the games with their rates, and those that failed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"JAX_PLATFORMS": "cpu"} | ({"PYTHONPATH": str(path)} if path else {})
    words = [str(python), "-P", str(_HERE / "pace.py"), name, str(seconds)]
    said = _call(words, "its games could not be played", environment)
    lines = [json.loads(line) for line in said.splitlines() if line.startswith('{"game"')]
    return [one for one in lines if "median" in one], [one for one in lines if "failed" in one]


def _call(words: Sequence[str], sentence: str, environment: dict[str, str] | None = None) -> str:
    """Run a program; return what it printed. Raises _Absent with `sentence` and the program's own last error."""
    try:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=_LONGEST)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _Absent(f"{sentence} ({type(error).__name__}).") from None
    if done.returncode:
        raise _Absent(f"{sentence} ({_reason(done.stderr)}).")
    return done.stdout


def _reason(said: str) -> str:
    """The last error of a program's output, without places of this machine."""
    errors = re.findall(r"^\s*(?:ERROR: |(?:[\w.]+\.)?(?=\w+Error\b))(.*)", said, re.MULTILINE)
    last = errors[-1].strip() if errors else (said.strip().splitlines() or ["it said nothing"])[-1].strip()
    return re.sub(r"[^\s'\"<>]*[/\\][^\s'\"<>]*", "(place)", last).rstrip(".")[:200]
