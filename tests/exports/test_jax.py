"""Games inside JAX: the same bytes as `make_vec`, under jit, vmap and scan."""

from __future__ import annotations

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.console.errors import InvalidType
from tests import ROOT
from tests.common.cases import GAMES
from tests.common.commands import run

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="JAX is not installed.")
TABLES, STEPS = 50, 60
KUHN = backalley.game("backalley.examples.kuhn")
SLOW = [pytest.param(game, id=game.name, marks=pytest.mark.slow) for game in GAMES]


def first_legal(mask: Any, number: Any) -> Any:
    """One of the legal actions, by a number."""
    legal = mask.astype(np.int32)
    place = number % legal.sum(-1)
    return (np.cumsum(legal, -1) > place[..., None]).argmax(-1)


@pytest.mark.parametrize("game", [pytest.param(KUHN, id="kuhn"), *SLOW])
@pytest.mark.sampled
def test_it_plays_as_make_vec(game: Any) -> None:
    from backalley import jax as in_jax

    jax, jnp = importlib.import_module("jax"), importlib.import_module("jax.numpy")
    env = in_jax.make(game, autoreset=True)
    keys = np.arange(2 * TABLES, dtype=np.uint32).reshape(TABLES, 2) * 7919
    batch = game.make_vec(TABLES, seed=0)
    shown = batch.reset(streams=keys.view(np.uint64)[:, 0])
    state, step = jax.jit(jax.vmap(env.init))(jnp.asarray(keys)), jax.jit(jax.vmap(env.step))
    for number in range(STEPS):
        actions = first_legal(shown.action_mask, np.arange(TABLES) + number)
        state, shown = step(state, jnp.asarray(actions)), batch.step(actions)
        for name, other in (("observation", "observation"), ("rewards", "reward"), ("current_player", "seat")):
            assert np.array_equal(getattr(state, name), getattr(shown, other)), name
        assert np.array_equal(state.legal_action_mask, shown.action_mask == 1)
        assert np.array_equal(state.terminated, shown.terminated)
        assert np.array_equal(state.truncated, shown.truncated)
        assert np.asarray(state.state).tobytes() == batch.states().records.tobytes()


def test_a_scan_plays_whole_games() -> None:
    from backalley import jax as in_jax

    jax, jnp = importlib.import_module("jax"), importlib.import_module("jax.numpy")
    env = in_jax.make(KUHN)

    def decide(state: Any, key: Any) -> tuple[Any, Any]:
        logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
        state = env.step(state, jax.random.categorical(key, logits))
        return state, state.rewards

    def play(key: Any) -> Any:
        return jax.lax.scan(decide, env.init(key), jax.random.split(key, 6))

    state, rewards = jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(1), TABLES))
    assert bool(state.terminated.all())
    assert bool((state.current_player == -2).all())
    assert not state.legal_action_mask.any()
    assert np.allclose(rewards.sum((1, 2)), 0)
    assert np.unique(rewards.sum(1)[:, 0]).size > 1


def test_an_action_that_is_not_legal_ends_the_game() -> None:
    from backalley import jax as in_jax

    jax = importlib.import_module("jax")
    env = in_jax.make(KUHN)
    state = env.init(jax.random.key(0))
    who, after = int(state.current_player), env.step(state, 99)
    assert bool(after.terminated)
    assert float(after.rewards[who]) == KUHN.reward_range[0]
    assert float(after.rewards.sum()) == KUHN.reward_range[0]
    assert not env.step(after, 0).rewards.any()


def test_what_it_does_not_take_is_a_sentence() -> None:
    from backalley import jax as in_jax

    with pytest.raises(InvalidType, match="autoreset is 1"):
        in_jax.make(KUHN, autoreset=1)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_guides_actor_critic_learns() -> None:
    page = (ROOT / "docs" / "guides" / "exporting.md").read_text("utf-8")
    code = page.split("### Learning inside")[1].split("```python\n")[1].split("```")[0]
    found: dict[str, Any] = {}
    exec(compile(code, "exporting.md", "exec", dont_inherit=True), found)
    begun, learned = float(found["returns"][:20].mean()), float(found["returns"][-20:].mean())
    assert begun < 0.6, "nearly at random"
    assert 1.0 < learned < 3.0


@pytest.mark.slow
def test_the_study_measures_steps_and_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backalley.benchmarks.studies.speed.in_jax.TABLES", (1, 8))
    path = tmp_path / "jax.json"
    done = run("dev", "study", "jax", KUHN.spec, "--seconds", "0.01", "--json", str(path))
    assert done.exit_code == 0, done.output
    rows = json.loads(path.read_text("utf-8"))["rows"]
    assert [row["tables"] for row in rows] == [1, 8]
    assert all(row["rates"][name] > 0 for row in rows for name in ("step", "jax_step", "play", "jax_play"))
    assert "JAX, scan of random play" in done.output


# PGX's own ways to play, with the environment's line changed ----------------------------------------------------------


@pytest.fixture(params=["pgx", "backalley"])
def kuhn_poker(request: pytest.FixtureRequest) -> Any:
    """PGX's Kuhn poker, and ours."""
    pgx = pytest.importorskip("pgx", reason="PGX is not installed: pip install --no-deps pgx svgwrite")
    from backalley import jax as in_jax

    return pgx.make("kuhn_poker") if request.param == "pgx" else in_jax.make(KUHN)


GAMES_PLAYED, LARGE_POTS = 4096, {"low": 0.32, "high": 0.43}
"""Of Kuhn poker at random, three in eight games are for 2: bet and call (1/4), or check, bet and call (1/8)."""


@pytest.mark.filterwarnings("default")  # PGX's own
def test_a_loop_of_pgx_plays_to_the_end(kuhn_poker: Any) -> None:
    jax, pgx = importlib.import_module("jax"), importlib.import_module("pgx.experimental")
    init, step = jax.jit(jax.vmap(kuhn_poker.init)), jax.jit(jax.vmap(kuhn_poker.step))
    key, drawn = jax.random.split(jax.random.PRNGKey(5))
    keys = jax.random.split(drawn, GAMES_PLAYED)
    state, total = init(keys), 0.0
    while not (state.terminated | state.truncated).all():
        key, drawn = jax.random.split(key)
        state = step(state, pgx.act_randomly(drawn, state.legal_action_mask), keys)
        total += np.asarray(state.rewards)
    assert not total.sum(1).any()
    assert LARGE_POTS["low"] < (np.abs(total[:, 0]) == 2).mean() < LARGE_POTS["high"]


@pytest.mark.filterwarnings("default")
def test_the_auto_reset_of_pgx_begins_the_next_game(kuhn_poker: Any) -> None:
    jax, pgx = importlib.import_module("jax"), importlib.import_module("pgx.experimental")
    step = jax.vmap(pgx.auto_reset(kuhn_poker.step, kuhn_poker.init))

    def decide(state: Any, key: Any) -> tuple[Any, Any]:
        action = pgx.act_randomly(key, state.legal_action_mask)
        state = step(state, action, jax.random.split(key, TABLES))
        return state, (state.rewards, state.terminated, state.legal_action_mask.any(-1))

    @jax.jit
    def play(key: Any) -> Any:
        state = jax.vmap(kuhn_poker.init)(jax.random.split(key, TABLES))
        return jax.lax.scan(decide, state, jax.random.split(key, 500))[1]

    rewards, terminated, can_act = (np.asarray(part) for part in play(jax.random.PRNGKey(6)))
    assert can_act.all()
    assert 1 / 3 < terminated.mean() < 1 / 2, "two or three decisions a game"
    paid = np.abs(rewards[terminated][:, 0])
    assert LARGE_POTS["low"] < (paid == 2).mean() < LARGE_POTS["high"]
    assert not rewards[~terminated].any()
