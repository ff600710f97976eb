"""What happens to programs and files, all at once: damaged and hostile files of every kind, processes that are killed
while they write, play or find their disk full, threads that fail, forks, faulty programs and servers of models, and a
flood of a server of tables.

Every mutation of a file has to be read as something valid, or refused in a sentence of ours; while it is read, no
module that it names is imported, no process is started and no file is written (a hook of Python's audit events
watches). After every kill the file is whole, and no older than the last one that its writer reported.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import random
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.policies.learned import load_policy
from backalley.agents.policies.policy_file import JSON_FILE, RUN_FILE
from backalley.agents.policies.pretrained import pretrained
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import BackAlleyError, NotInstalled
from backalley.envs.core.files import playthrough, reading
from backalley.envs.core.game.catalogue import game as game_of
from backalley.records.reading import read_record
from backalley.records.writing import record_games
from backalley.training.config.phases import Budget
from backalley.training.config.yaml_files import load_yaml
from backalley.training.run.run import begin, reopen

from ...figures.formatting import Found, optional
from ...figures.result_kinds import KINDS, Columns, Files, Kept, figures, lines
from ...publish.sources import all_sources, whole
from ..runner import SEED, Progress, count, quiet, study
from .faults import run_faults
from .flood import flood
from .kills import every_kill, has_ray, tried

HOSTILE: tuple[Any, ...] = (
    "canary:game", "canary", "/tmp/canary.py:Player", "cmd:touch canary", "llm:http://127.0.0.1:9/v1#canary", "NaN",
    "../../canary", True, False, None, -1, 0, 2**63, 10**40, 1e308, "", "\x1b[2J", "\ud800", "x" * 100_000, [], {},
    [[]], {"": {}},
)  # fmt: skip
"""What is put in the place of values."""
_WATCHED = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "socket.connect"}
_seen: list[str] | None = None
"""What the hook has seen while a file is read; None while it does not look."""


class Kind(NamedTuple):
    """A kind of file: a sound example, and its reader."""

    name: str
    file: str
    data: bytes
    read: Callable[[Path], Any]


_COLUMNS: Columns = {
    "did": "{did}",
    "times": "{times:,}",
    "held": "{held:,}",
    "read as something valid": lambda row: optional(row, "valid", ","),
    "trouble": lambda row: "; ".join(row["trouble"][:3]),
}


class Chaos(Kept, kind="chaos", heading="Kills, faults and forged files", tables={"chaos": lines(_COLUMNS, "rows")}):
    """What became of all that was done to it."""

    says = "Damaged and hostile files, kills, and faults of programs and servers"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what was left out, and why."""
        return [one for found in files for one in found.get("left_out", ())]

    @property
    def kept(self) -> bool:
        """Whether nothing was lost, run or disturbed."""
        return all(row["held"] == row["times"] for row in self.found["rows"])


@study(
    "chaos",
    Chaos,
    count("--mutations", 50_000, "Damaged files, in all.", 0),
    count("--kills", 200, "Of each thing that is killed, fails or forks.", 0),
    count("--faults", 79, "Of programs and servers of models.", 0),
    count("--clicks", 200, "Of a player at a server that others flood.", 0),
    SEED,
    top=True,
)
def chaos(*, seed: int, mutations: int, kills: int, faults: int, clicks: int, progress: Progress = quiet) -> Found:
    """Damage files, kill processes and tasks, fill disks, let threads fail, fork, play with faulty programs, and flood
    a server of tables: nothing may be lost, run or disturbed.

    Everything is drawn by `seed`; the mutations are shared among the kinds of files.
    """
    chance, rows, left_out = random.Random(seed), list[dict[str, Any]](), list[str]()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        every = kinds(folder)
        for number, kind in enumerate(every):
            progress(number, len(every) + 2, kind.name)
            share = mutations * (number + 1) // len(every) - mutations * number // len(every)
            rows.append(mutate(kind, folder / "changed", share, chance))
        progress(len(every), len(every) + 2, "kills")
        if hasattr(os, "fork"):
            rows += every_kill(folder, kills, chance)
        else:
            left_out.append("Kills, full disks, threads and forks were left out: this system has no fork.")
        if not has_ray():
            left_out.append("Kills of tasks of Ray were left out: Ray is not installed.")
    progress(len(every) + 1, len(every) + 2, "faults")
    outcomes: Sequence[Any] = run_faults(seed, faults) if faults else []
    wrong = [one.trouble and f"{one.fault.name}: {one.trouble}" for one in outcomes]
    rows.append(tried("faults of programs and of models' servers", len(wrong), lambda number: wrong[number]))
    if not (importlib.util.find_spec("httpx") and importlib.util.find_spec("uvicorn")):
        left_out.append("The flood of a server was left out: httpx or uvicorn is not installed.")
    elif clicks:
        rows.append(flood(clicks))
    return {"seed": seed, "rows": rows, "left_out": left_out}


# Files ----------------------------------------------------------------------------------------------------------------


def kinds(folder: Path) -> list[Kind]:
    """Return every kind of file that is read back, with a sound example. Those that need an extra are left out where it
    is not installed."""
    city, kuhn = game_of("missouri_city"), game_of("backalley.examples.kuhn")
    record, recorded = folder / "record.jsonl", json.dumps(playthrough.recorded(city, 1, _actions(city))).encode()
    record_games(city, [agent_of("bot", city)] * 2, record, games=3, seed=0)
    policy = pretrained(city)[0].folder
    published = Path(__file__).resolve().parents[2] / "results"
    found = [
        Kind("recorded game", "game.json", recorded, lambda path: list(playthrough.replay(path))),
        Kind("record of games", "record.jsonl", record.read_bytes(), _rows),
        Kind("results", "results.json", (published / "exact_backhand.json").read_bytes(), _report),
        Kind("scores", "scores.json", (published / "rules_to_code_reference.json").read_bytes(), _report),
        Kind("training run", RUN_FILE, _run(folder), lambda path: reopen(path.parent, None, Budget(), restart=True)),
        Kind("settings of training", "settings.yaml", b"ppo:\n  tables: 32\nrun:\n  log_every: 2\n", load_yaml),
        Kind("policy", JSON_FILE, (policy / JSON_FILE).read_bytes(), lambda path: _policy(path, policy)),
        Kind("saved tables", "saved", _saved(kuhn), _load_saved),
    ]
    with suppress(NotInstalled):
        rows = folder / "record.parquet"
        record_games(city, [agent_of("bot", city)] * 2, rows, games=3, seed=0)
        found.append(Kind("record of games in Parquet", rows.name, rows.read_bytes(), _rows))
    with suppress(ModuleNotFoundError, BackAlleyError):
        from backalley.web.table import Chair, Table, contents, restored

        def table(path: Path) -> Any:
            return restored("t", contents(reading.read_json(path)))

        chairs = [Chair(agent="bot"), Chair(link="secret", session="me")]
        sound = Table("t", city, {"seed": 1}, chairs, "me", _actions(city)[:2]).kept()
        found.append(Kind("table of serve", "table.json", json.dumps(sound).encode(), table))
    return found


def _actions(game: Any) -> list[int]:
    state, actions = game.new_state(1), []
    while not state.is_over:
        actions.append(state.legal_actions()[0])
        state.apply(actions[-1])
    return actions


def _rows(path: Path) -> Any:
    return list(read_record(path))


def _report(path: Path) -> Any:
    found = all_sources([path])
    with whole(found):
        return [figures(name, [one.found]) for one in found for name in KINDS[one.found["kind"]].tables]


def _run(folder: Path) -> bytes:
    """The file of a run that has not begun."""
    run = begin(
        game_of("missouri_city"),
        out=folder / "run",
        config=None,
        overrides=None,
        seed=0,
        budget=Budget(1.0),
        device="cpu",
    )
    run.folder.mkdir()
    run.write()
    return (run.folder / RUN_FILE).read_bytes()


def _policy(path: Path, sound: Path) -> Any:
    for file in sound.iterdir():
        if file.name != JSON_FILE and file.is_file():
            (path.parent / file.name).write_bytes(file.read_bytes())
    return load_policy(path.parent)


def _saved(game: Any) -> bytes:
    """The part of a pickle of saved tables that is data: their arrays' bytes."""
    batch = game.make_vec(4, seed=1)
    batch.reset()
    return pickle.dumps(batch.save())


def _load_saved(path: Path) -> Any:
    """Pickles are code, so only bytes inside of the arrays are changed: see `_of_saved`."""
    found = pickle.loads(path.read_bytes())
    batch = found.game.make_vec(len(found), seed=0)
    batch.reset()
    batch.load(None, found)
    return batch.step(batch.time_step.action_mask.argmax(1))


def mutate(kind: Kind, folder: Path, times: int, chance: random.Random) -> dict[str, Any]:
    """Change an example in so many ways, and read each."""
    folder.mkdir(exist_ok=True)
    path, valid = folder / kind.file, 0
    path.write_bytes(kind.data)
    kind.read(path)  # raises where the example is not sound

    def trial(number: int) -> str:
        nonlocal valid
        for other in folder.iterdir():
            other.unlink()
        path.write_bytes(_changed(kind, chance))
        said, wrong = _read(kind, path)
        valid += said == "valid"
        return wrong

    return {**tried(f"mutations: {kind.name}", times, trial), "valid": valid}


def _read(kind: Kind, path: Path) -> tuple[str, str]:
    """What became of one file, and what was wrong with that."""
    global _seen
    _watch()
    _seen, said, wrong = [], "refused", ""
    try:
        kind.read(path)
        said = "valid"
    except (BackAlleyError, OSError) as error:
        if not str(error).isprintable():
            wrong = f"a sentence that steers a terminal: {str(error)!r}"[:200]
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"[:200]
    finally:
        seen, _seen = _seen, None
    return said, wrong or ", ".join(seen or [])[:200]


def _changed(kind: Kind, chance: random.Random) -> bytes:
    if kind.file == "saved":
        return _of_saved(kind.data, chance)
    if kind.file.endswith((".json", ".jsonl")) and chance.random() < 0.6:
        text = kind.data.decode()
        lines = text.splitlines() if kind.file.endswith(".jsonl") else [text]
        place = chance.randrange(len(lines))
        lines[place] = json.dumps(_hostile(json.loads(lines[place]), chance))
        return "\n".join(lines).encode(errors="surrogatepass")
    return _damaged(kind.data, chance)


def _hostile(found: Any, chance: random.Random) -> Any:
    """A value with one of its entries, at any depth, changed, dropped, doubled or renamed."""
    if not isinstance(found, (dict, list)) or not found or chance.random() < 0.15:
        value = chance.choice(HOSTILE)
        return json.loads("[" * 200 + "]" * 200) if value == [[]] else value
    places = list(found) if isinstance(found, dict) else range(len(found))
    place = chance.choice(places)
    made: Any = dict(found) if isinstance(found, dict) else list(found)
    match chance.randrange(6):
        case 0:
            del made[place]
        case 1 if isinstance(made, dict):
            made[str(chance.choice(HOSTILE))[:50]] = made.pop(place)
        case 2 if isinstance(made, list):
            made.insert(chance.randrange(len(made) + 1), made[place])
        case _:
            made[place] = _hostile(made[place], chance)
    return made


def _damaged(data: bytes, chance: random.Random) -> bytes:
    made = bytearray(data)
    match chance.randrange(4):
        case 0:
            del made[chance.randrange(len(made)) :]
        case 1:
            for _ in range(chance.randrange(1, 9)):
                made[chance.randrange(len(made))] = chance.randrange(256)
        case 2:
            begin = chance.randrange(len(made))
            made[begin:begin] = made[begin : begin + chance.randrange(1, 200)]
        case _:
            begin = chance.randrange(len(made))
            del made[begin : begin + chance.randrange(1, 200)]
    return bytes(made)


def _of_saved(data: bytes, chance: random.Random) -> bytes:
    """A pickle with one byte of the tables' arrays changed: of the longest runs of bytes that are no text."""
    runs = [found.span() for found in re.finditer(rb"[\x00-\x08\xff]{12,}", data)]
    begin, end = chance.choice(runs)
    made = bytearray(data)
    made[chance.randrange(begin + 4, end - 4)] ^= 1 << chance.randrange(8)
    return bytes(made)


def _watch() -> None:
    """Let Python tell what is imported, started and written while a file is read. A hook stays for good."""
    if not getattr(sys, "_backalley_watched", False):
        sys._backalley_watched = True  # type: ignore[attr-defined]
        sys.addaudithook(_hook)


def _hook(event: str, given: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    named = event == "import" and "canary" in str(given[0])
    writes = event == "open" and isinstance(given[1], str) and set(given[1]) & {*"wax+"} and "canary" in str(given[0])
    if event in _WATCHED or named or writes:
        _seen.append(f"{event} {str(given)[:80]}")
