"""Kernels: machine code is never that of an older text nor another type's, and compiled equals uncompiled."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest

import backalley
from backalley.envs.core.compile import kernel_cache, source_digest, tiering
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import record, rng, trick_hand
from backalley.testing import check_compiled
from tests import ROOT
from tests.common.cases import BY_NAME, GAMES, option_sets, own_shape


def process(code: str, folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What becomes of Python code in a process of its own, which works in a folder and imports from there, too."""
    path = os.pathsep.join([str(folder), str(ROOT), str(ROOT / "src")])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, *words, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def run(code: str, tmp_path: Path, **environment: str) -> str:
    """What code prints; warnings are errors."""
    return process(code, tmp_path, "-W", "error", **environment).stdout.strip()


def in_a_process(code: str, path: Path, cache: Path) -> list[str]:
    """What code prints in a process that keeps machine code in `cache`."""
    return process(code, path, BACKALLEY_CACHE=str(cache), NUMBA_DISABLE_JIT="0").stdout.split()


def test_symbols_of_machine_code_name_records_by_their_fields(tmp_path: Path) -> None:
    """Whatever types a process has met before: code kept by one process must not bear a symbol that another gives to
    other records."""
    code = (
        "import numba, numpy as np; from backalley.envs.core.compile import kernel\n"
        "record = lambda code, size: numba.typeof(np.zeros(1, "
        "np.dtype([('seat', 'i1'), ('shoe', code, size)]))).dtype\n"
        "[record('i4', size) for size in range(1, {met})]\n"
        "print(record('u2', 6).mangling_args, record('u2', 52).mangling_args)"
    )
    shown = [process(code.format(met=met), tmp_path).stdout for met in (1, 9)]
    assert shown[0] == shown[1]
    one, other = shown[0].split(") (")
    assert one.strip("()\n") != other.strip("()\n")


def test_no_games_record_begins_with_all_fields_of_anothers() -> None:
    """Numba takes such a record for a subtype, and runs the kernels compiled for the shorter one."""
    several = [{"num_players": seats} for seats in (3, 4, 7)]
    games = [*GAMES, *(backalley.game("killer_bridge", **given) for given in several)]
    games += [backalley.game("pitch", teams="solo", **given) for given in several]
    for kind in ("state_dtype", "observation_dtype"):
        for short, long in itertools.permutations({getattr(game, kind) for game in games}, 2):
            assert short.descr != long.descr[: len(short.descr)]
    bare = numba.from_dtype(record.dtype(trick_hand.TrickHand, backalley.game("pitch").options))
    with pytest.warns(numba.NumbaExperimentalFeatureWarning):  # as it would be if a game had no fields of its own
        assert numba.from_dtype(backalley.game("pitch").state_dtype).can_convert_to(None, bare) is not None


@pytest.mark.slow
@BY_NAME
@pytest.mark.skipif(not COMPILED, reason="compares the two")
def test_compiled_equals_uncompiled(game: Game) -> None:
    """The same episodes, as Python and compiled, under the defaults and every option set that needs no compilation of
    its own, and one that does: the same states, masks, observations, determinizations, bots' moves, rewards."""
    sets = [game.bind(given) for given in option_sets(game) if given]
    own = [one for one in sets if own_shape(game, one.changed_options)]
    own.sort(key=lambda one: (len(one.changed_options) < 2, one.state_dtype.itemsize))  # a mixture, where there is one
    others = [one for one in sets if one not in own]
    mixed = [one for one in others if len(one.changed_options) > 1]
    check_compiled(game, *own[:1], *mixed[:1], seed=17, episodes=1, most=10**9)
    check_compiled(*others, seed=18, episodes=1, most=25)


HEAD = "from backalley.envs.core.compile.kernel import kernel\n"
WAYS = {
    "relative": "from . import values\nfrom .values import value\n",
    "absolute": "from absolute.values import (\n    value,\n)\n",
    "whole": "import whole.values\nvalue = whole.values.value\n",
    "in_a_function": "def found():\n    from .values import value\n    return value\nvalue = found()\n",
    "for_a_type_checker": (
        "import importlib\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .values import value\n"
        "value = importlib.import_module('for_a_type_checker.values').value\n"
    ),
}
"""Packages outside ours, by how one file of each imports from another."""


@pytest.mark.slow
def test_editing_a_kernel_that_another_file_calls_changes_what_runs(tmp_path: Path) -> None:
    """Numba's own cache would go on with the old rule: it looks only at the caller's file. Here it is two imports
    away."""
    code = ""
    for name, way in WAYS.items():
        outside = tmp_path / name
        outside.mkdir()
        (outside / "__init__.py").touch()
        (outside / "values.py").write_text(HEAD + "@kernel\ndef value(card):\n    return card + 1\n")
        (outside / "tricks.py").write_text(HEAD + way + "@kernel\ndef points(card):\n    return value(card)\n")
        imports = "from . import tricks\nPOINTS = tricks.points\n"
        (outside / "caller.py").write_text(HEAD + imports + "@kernel\ndef score(card):\n    return POINTS(card) * 10\n")
        code += f"from {name}.caller import score; print(score(4), sum(score.stats.cache_hits.values()))\n"
    assert in_a_process(code, tmp_path, tmp_path / "cache") == ["50", "0"] * len(WAYS)
    assert in_a_process(code, tmp_path, tmp_path / "cache") == ["50", "1"] * len(WAYS), "it should find them on disk"
    for name in WAYS:
        values = tmp_path / name / "values.py"
        values.write_text(values.read_text().replace("card + 1", "card + 2"))
    assert in_a_process(code, tmp_path, tmp_path / "cache") == ["60", "0"] * len(WAYS)


def test_a_kernel_edited_and_imported_again_in_one_process_runs_as_it_stands(tmp_path: Path) -> None:
    """As in a notebook: machine code of an earlier text must not come back from the disk."""
    (tmp_path / "caller.py").write_text(
        HEAD + "from values import value\n@kernel\ndef score(card):\n    return value(card) * 10\n"
    )
    value = HEAD + "@kernel\ndef value(card):\n    return card + "
    code = f"""
import sys
for more in "121":
    with open("values.py", "w") as file:
        file.write({value!r} + more)
    for name in ("caller", "values"):
        sys.modules.pop(name, None)
    import caller
    print(caller.score(4))
"""
    assert in_a_process(code, tmp_path, tmp_path / "cache") == ["50", "60", "50"]


def test_what_a_file_of_ours_imports() -> None:
    """Of this package alone: neither NumPy nor what lies beside the package belongs to a kernel's text."""
    core = ROOT / "envs" / "core"
    found = source_digest.imported_files(core / "rules" / "tricks.py")
    assert {core / name for name in ("rules/rng.py", "rules/cards.py", "compile/kernel.py")} <= set(found)
    assert all(path.is_relative_to(ROOT / "envs") for path in found)


@pytest.mark.slow
def test_editing_a_part_of_an_outside_game_changes_what_is_played(tmp_path: Path) -> None:
    """The whole engine, compiled for a game outside the package, with a rule in a file of its own."""
    place = tmp_path / "war_outside"
    code = f"from backalley.cli.new_game import *\nnew_game('war_outside', Path({str(tmp_path)!r}))"
    in_a_process(code, tmp_path, tmp_path / "cache")
    play = (
        "import backalley\nenv = backalley.make('war_outside.game')\n"
        "env.reset(seed=1, options={'decks': [['5C', 'KC']]})\nenv.step(0)\nprint(env.rewards['player_0'])"
    )
    assert in_a_process(play, tmp_path, tmp_path / "cache") == ["-0.5"]
    (place / "costs.py").write_text(HEAD + "@kernel\ndef cost(costs):\n    return 2.0 * costs\n")
    rules = (place / "rules.py").read_text().replace("-options.fold_costs", "-cost(options.fold_costs)")
    (place / "rules.py").write_text(rules.replace("from .state import", "from .costs import cost\nfrom .state import"))
    assert in_a_process(play, tmp_path, tmp_path / "cache") == ["-1.0"]
    (place / "costs.py").write_text((place / "costs.py").read_text().replace("2.0", "0.5"))
    assert in_a_process(play, tmp_path, tmp_path / "cache") == ["-0.25"]


@pytest.mark.slow
def test_compiling_ahead_leaves_nothing_to_compile(tmp_path: Path) -> None:
    """After `backalley compile`, environments, bots, matches and a search of the game write no new machine code."""
    cache = tmp_path / "cache"
    code = "from backalley.cli import main; main(['compile', 'backhand'], standalone_mode=False)"
    shown = in_a_process(code, tmp_path, cache)
    assert shown[0] == "backhand:"
    before = sorted(path.name for path in cache.rglob("*.nbc"))
    assert len(before) > 20
    play = (
        "import backalley\nenv = backalley.make('backhand')\nenv.reset(seed=1)\nenv.step(0)\n"
        "batch = backalley.make_vec('backhand', num_envs=300)\nbatch.step(batch.reset().action_mask.argmax(1))\n"
        "backalley.evaluate('backhand', ['bot', 'random', 'mc:2'], deals=10)"
    )
    in_a_process(play, tmp_path, cache)
    assert sorted(path.name for path in cache.rglob("*.nbc")) == before


def test_numba_still_has_the_fault_that_is_mended(tmp_path: Path) -> None:
    """When this fails, Numba names records so that processes agree: `name_records_by_fields` goes."""
    code = (
        "import numba, numpy as np\n"
        "record = lambda size: numba.typeof(np.zeros(1, np.dtype([('seat', 'i1'), ('shoe', 'u2', size)]))).dtype\n"
        "[record(size) for size in range(1, {met})]\n"
        "from numba.core.itanium_mangler import mangle_type\nprint(mangle_type(record(52)))"
    )
    shown = [process(code.format(met=met), tmp_path).stdout for met in (1, 9)]
    assert shown[0] != shown[1]


def test_a_version_of_numba_that_nobody_looked_at_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = kernel_cache.SEEN_IN
    for version in ((low[0], low[1] - 1), (high[0], high[1] + 1)):
        monkeypatch.setattr(kernel_cache.numba, "__version__", ".".join(map(str, version)) + ".0")
        with pytest.raises(ImportError, match="install one of those"):
            kernel_cache.name_records_by_fields()


def test_a_long_wait_for_the_compiler_is_explained_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tiering, "AFTER", 0.01)
    monkeypatch.setattr(tiering, "_announced", threading.Event())
    with tiering.announced():
        pass
    time.sleep(0.05)
    assert capsys.readouterr().err == "", "it took no time"
    for _ in range(2):
        with tiering.announced(), tiering.announced():
            time.sleep(0.05)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", tiering.MESSAGE + "\n")


@pytest.mark.skipif(not COMPILED, reason="counts compilations")
def test_options_are_an_argument_not_a_reason_to_compile() -> None:
    """Twenty sets of options of a game, of the same record types, are played by one compilation of each
    batch_kernel."""
    from backalley.envs.core.engine.engine import batch_kernels

    def compilations() -> dict[str, int]:
        """How often each batch_kernel is compiled in this process, in which other tests may have played before."""
        return {name: len(batch_kernels(game.type, None)[name].entries) for name in ("open_rows", "step_rows")}  # type: ignore[attr-defined]

    game = backalley.game("poker_duel")
    made, counts = [], []
    for number in range(20):
        one = game.bind(num_games=1 + number)
        batch = one.make_vec(2, seed=number)
        batch.step(batch.reset().action_mask.argmax(1))
        made.append(one)
        counts.append(compilations())
    assert len({(one.state_dtype, one.observation_dtype) for one in made}) == 1
    assert all(counts[0].values()), counts[0]
    assert counts[1:] == counts[:-1], "the first compiles, the others are played by what it made"
    assert len(set(made)) == 20


@pytest.mark.slow
def test_a_game_that_cannot_be_imported_elsewhere_leaves_the_others_caches_readable(tmp_path: Path) -> None:
    """Numba keeps the types that a kernel was called with; those of a game outside the package must not stand in the
    way of others."""
    cache = str(tmp_path / "cache")
    play = "from backalley.agents.base.rule_based import RandomAgent\n"
    play += "from backalley.benchmarks.matches.evaluate import evaluate\n"
    here = play + "from backalley.examples.kuhn import GAME\nprint(evaluate(GAME, [RandomAgent()] * 2, deals=50).deals)"
    assert run(here, tmp_path, BACKALLEY_CACHE=cache) == "50"
    simplest = min(GAMES, key=lambda game: len(game.options._fields))  # which is compiled soonest
    names = f"import backalley\nGAME = backalley.game({simplest.name!r})\n"
    away = play + names + "print(evaluate(GAME, [RandomAgent()] * 2, deals=50).deals)"
    assert run(away, tmp_path, BACKALLEY_CACHE=cache, PYTHONPATH=str(ROOT / "src")) == "50"


def test_templates_that_mean_different_things_by_one_name_are_refused(tmp_path: Path) -> None:
    text = HEAD + "COST = {cost}\ndef {name}(card):\n    return card + COST\n"
    (tmp_path / "one.py").write_text(text.format(cost=1, name="first"))
    (tmp_path / "other.py").write_text(text.format(cost=2, name="second"))
    code = (
        "import one, other\nfrom backalley.envs.core.compile.kernel import specialise\n"
        "try:\n    specialise([one.first, other.second], {})\nexcept TypeError as error:\n    print(error)\n"
        "print(specialise([one.first, other.second], {'COST': one.first}).keys() == {'first', 'second'})"
    )
    said, filled = run(code, tmp_path).splitlines()
    assert said == "one.first and another template mean different things by 'COST'; rename one of them."
    assert filled == "True"


KERNEL = HEAD + "@kernel\ndef double(number):\n    return 2 * number\n"
"""A module of one kernel, which is compiled soonest."""


def test_caches_that_nobody_used_for_a_month_are_dropped_and_nothing_else(tmp_path: Path) -> None:
    """`$BACKALLEY_CACHE` may be a folder that holds other things, too."""
    cache = tmp_path / "cache"
    old, young, empty, other, alike = "0123456789abcdef", "f" * 16, "e" * 16, "letters", "0" * 16
    for name, file, age in ((old, "a.nbc", 40), (young, "a.nbc", 3), (other, "a.nbc", 40), (alike, "a.txt", 40)):
        (cache / name).mkdir(parents=True)
        (cache / name / file).touch()
        os.utime(cache / name, (time.time() - age * 86400,) * 2)
    (cache / empty).mkdir()
    os.utime(cache / empty, (time.time() - 40 * 86400,) * 2)
    (tmp_path / "one.py").write_text(KERNEL)
    in_a_process("import one; one.double(2)", tmp_path, cache)
    names = {path.name for path in cache.iterdir()}
    assert {young, other, alike} < names
    assert not {old, empty} & names
    assert len(names) == 4


ALIKE = """
from typing import NamedTuple
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.compile.kernel import specialise, template, unbound

def times(number):
    @kernel
    def product(x):
        return x * number
    return product

def chained(inner):
    @kernel
    def outer(x):
        return inner(x) + 1
    return outer

def down():
    @kernel
    def count(x):
        return 0 if x == 0 else 1 + count(x - 1)
    return count

one_more, two_more = kernel(lambda x: x + 1), kernel(lambda x: x + 2)

class Here:
    class Options(NamedTuple):
        x: int
        y: int

class There:
    class Options(NamedTuple):
        y: int
        x: int

@kernel
def first(options):
    return options.x

STEP = unbound

@template
def twice(x):
    return STEP(STEP(x))

print(times(2)(5), times(3)(5))
print(chained(times(2))(5), chained(times(3))(5), down()(3))
print(one_more(5), two_more(5))
print(first(Here.Options(1, 2)), first(There.Options(2, 1)))
print(*(specialise([twice], {"STEP": times(number)})["twice"](5) for number in (2, 3)))
print(first.stats.cache_hits.total() if hasattr(first.stats.cache_hits, "total") else 0)
"""


def test_machine_code_of_functions_and_types_that_look_alike_is_announced_apart(tmp_path: Path) -> None:
    """Of one name and place: what a closure holds, lambdas of one line, named tuples of one name with other fields."""
    (tmp_path / "alike.py").write_text(ALIKE)
    right = ["10", "15", "11", "16", "3", "6", "7", "1", "1", "20", "45"]
    code = "import alike"
    for hits in ("0", "2"):
        assert in_a_process(code, tmp_path, tmp_path / "cache") == [*right, hits]


def compiled_in(folder: Path, **environment: str) -> tuple[bool, str]:
    """Whether a process compiled the kernel of `folder/one.py` again, and what it said on standard error."""
    code = "import one; assert one.double(2) == 4; print(sum(one.double.stats.cache_misses.values()))"
    found = process(code, folder, **environment)
    return found.stdout.strip() == "1", found.stderr


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="counts compilations")
def test_two_folders_with_the_same_text_share_what_one_compiled_and_others_never(tmp_path: Path) -> None:
    """Each virtual environment, image and worker used to compile everything again."""
    cache = str(tmp_path / "cache")
    for name in ("one_place", "another"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.py").write_text(KERNEL)
    assert compiled_in(tmp_path / "one_place", BACKALLEY_CACHE=cache) == (True, "")
    assert compiled_in(tmp_path / "another", BACKALLEY_CACHE=cache) == (False, "")
    (tmp_path / "another" / "one.py").write_text(KERNEL.replace("2 * number", "number + number"))
    assert compiled_in(tmp_path / "another", BACKALLEY_CACHE=cache) == (True, "")
    assert compiled_in(tmp_path / "one_place", BACKALLEY_CACHE=cache) == (False, "")
    checked = {"BACKALLEY_CACHE": cache, "NUMBA_BOUNDSCHECK": "1"}
    assert compiled_in(tmp_path / "one_place", **checked) == (True, ""), "other machine code: indices are checked"


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="counts compilations")
def test_a_cache_that_cannot_be_written_is_read_and_something_else_written(tmp_path: Path) -> None:
    """A file in the place of the folder stands for a full disk, or one that may only be read: root may write anywhere.
    One sentence says where compiled code goes instead; where nothing takes it, it is played from memory."""
    (tmp_path / "one.py").write_text(KERNEL)
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    place = {"BACKALLEY_CACHE": str(cache), "TMPDIR": str(temporary)}
    cache.touch()
    missed, said = compiled_in(tmp_path, **place)
    assert missed
    assert said.count("\n") == 1
    assert str(cache) in said
    assert str(temporary) in said
    assert compiled_in(tmp_path, **place) == (False, ""), "read from there, without a word"
    shutil.rmtree(next(temporary.iterdir()))
    next_to_full = temporary / f"backalley-{os.getuid()}"
    next_to_full.touch()
    for _ in range(2):
        missed, said = compiled_in(tmp_path, **place)
        assert missed
        assert said.count("\n") == 1
        assert "in memory" in said


@pytest.mark.skipif(not COMPILED, reason="counts compilations")
def test_a_full_disk_under_the_cache_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(KERNEL)
    (tmp_path / "sitecustomize.py").write_text(
        "import os\nfrom pathlib import Path\nkept = Path.write_bytes\n"
        "def full(self, data):\n    if 'partial' in self.name:\n        raise OSError(28, 'No space left on device')\n"
        "    return kept(self, data)\nPath.write_bytes = full\n"
    )
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    missed, said = compiled_in(tmp_path, BACKALLEY_CACHE=str(cache), TMPDIR=str(temporary))
    assert missed
    assert "no space left on device" in said
    assert str(cache) in said
    assert "in memory" in said
    assert str(temporary) in said
    assert said.count("\n") == 1, "the temporary files lie on the same disk: that is one thing to say, not two"
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.skipif(not COMPILED, reason="counts compilations")
def test_a_user_without_a_home_has_a_cache_among_the_temporary_files(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(KERNEL)
    (tmp_path / "sitecustomize.py").write_text(
        "import os, pathlib\n"
        "def nobody(cls):\n    raise RuntimeError('Could not determine home directory.')\n"
        "pathlib.Path.home = classmethod(nobody)\n"
        "for name in ('BACKALLEY_CACHE', 'XDG_CACHE_HOME', 'LOCALAPPDATA', 'HOME'):\n    os.environ.pop(name, None)\n"
    )
    (tmp_path / "temporary").mkdir()
    missed, said = compiled_in(tmp_path, TMPDIR=str(tmp_path / "temporary"))
    assert missed
    assert "no home folder" in said
    assert compiled_in(tmp_path, TMPDIR=str(tmp_path / "temporary")) == (False, "")


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="counts compilations")
def test_a_damaged_file_of_machine_code_is_compiled_anew(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(KERNEL)
    cache = tmp_path / "cache"
    assert compiled_in(tmp_path, BACKALLEY_CACHE=str(cache)) == (True, "")
    (kept,) = cache.rglob("*.nbc")
    whole = kept.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], whole[:500] + bytes([whole[500] ^ 1]) + whole[501:]):
        kept.write_bytes(damaged)
        assert compiled_in(tmp_path, BACKALLEY_CACHE=str(cache)) == (True, "")
    assert compiled_in(tmp_path, BACKALLEY_CACHE=str(cache)) == (False, "")


def test_streams_are_splitmix64_and_shuffles_are_fair() -> None:
    """First words for seed 1234567 as published with the reference implementation; every order of four cards equally
    often."""
    stream, words = np.uint64(1234567), []
    with np.errstate(over="ignore"):
        for _ in range(3):
            stream = np.uint64(rng.advance(stream))
            words.append(int(rng.mix(stream)))
    assert words == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    counts: dict[tuple[int, ...], int] = {}
    stream = np.uint64(3)
    for _ in range(24_000):
        cards = np.arange(4)
        stream = np.uint64(rng.shuffle(stream, cards, 4))
        counts[tuple(cards.tolist())] = counts.get(tuple(cards.tolist()), 0) + 1
    assert len(counts) == 24
    squares = sum((count - 1000) ** 2 / 1000 for count in counts.values())
    assert squares < 58, (
        f"chi-squared with 23 degrees of freedom is {squares:.1f}; 58 is passed once in 10,000 fair runs"
    )
