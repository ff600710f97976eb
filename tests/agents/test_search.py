"""Searches: what they compute is right, and nothing that a seat cannot see, no batch and no thread has a
part in it."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base.agent import Agent, View, view_of
from backalley.agents.base.rule_based import BotAgent, random_rows
from backalley.agents.policies.pretrained import policy_for
from backalley.agents.registry import agent
from backalley.agents.search.determinizations import Determinizations, determinization_keys
from backalley.agents.search.elimination import decide, drop_hopeless
from backalley.agents.search.flat_monte_carlo import SearchAgent
from backalley.agents.search.racing import DETERMINIZATIONS, FIRST, RacingAgent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.engine.engine import Engine
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import rng
from backalley.examples import kuhn
from tests.common.cases import GAMES

KUHN = kuhn.GAME.bind()
JACK, QUEEN, KING = range(3)
QUICK = ("missouri_city", "killer_bridge")
BY_NAME = pytest.mark.parametrize(
    "game", [pytest.param(game, id=game.name, marks=[] if game.name in QUICK else [pytest.mark.slow]) for game in GAMES]
)


KINDS = {"mc": 3, "search": 2 * FIRST, "search+policy": FIRST}
KIND = pytest.mark.parametrize("kind", ["mc", "search"])
BY_POLICY = pytest.mark.parametrize(
    ("game", "count"),
    [
        pytest.param(game, count, id=game.name, marks=pytest.mark.slow)
        for game, count in ((game_of("pitch"), 8), (game_of("poker_duel"), 3))
    ],
)
"""Games whose policies correct a bot, and plan: each reads something else, and needs room of its own to work in."""


def searching(kind: str, game: Game, num_threads: int = 0) -> Agent:
    return agent(f"{kind}:{KINDS[kind]}", game, num_threads=num_threads)


def keys(count: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(1).integers(2**64, size=count, dtype=np.uint64)


def all_rows(batch: BatchEnv) -> View:
    """The view of every table at which somebody is to act."""
    return view_of(batch, np.flatnonzero(batch.time_step.seat >= 0), keys(batch.num_envs))


def some_way_in(game: Game, count: int) -> BatchEnv:
    """Tables at different points of random play."""
    batch = BatchEnv(game, count, seed=0)
    shown = batch.reset()
    streams, actions = keys(count), np.zeros(count, np.int64)
    for step in range(2 * count):
        random_rows(shown.action_mask, streams + np.uint64(step), actions)
        rows = np.arange(step // 2, count)
        shown = batch.step(actions[rows], rows)
    return batch


@pytest.mark.parametrize(
    ("before", "card", "lead"),
    [
        ([], KING, 0.75),  # pass: +1, or facing a bet half +2, half -1; bet: +1 or +2
        ([kuhn.PASS], QUEEN, 0.5),  # pass: as many won as lost; bet: +1, or as many of 2 won as lost
        ([kuhn.BET], KING, 3.0),
        ([kuhn.BET], JACK, -1.0),
    ],
)
def test_leads_are_those_against_random_play(before: list[int], card: int, lead: float) -> None:
    batch = BatchEnv(KUHN, 32, seed=0, autoreset=False)
    batch.reset()
    for action in before:
        batch.step(np.full(32, action))
    view = all_rows(batch)
    rows = np.flatnonzero(view.observation[:, card])
    found, error = SearchAgent(KUHN, 2000).leads(view, rows, np.zeros(len(rows), np.int64))
    assert len(rows) > 3
    assert (found[:, kuhn.PASS] == 0).all()
    assert (error[:, kuhn.PASS] == 0).all()
    assert (np.abs(found[:, kuhn.BET] - lead) <= 5 * error[:, kuhn.BET] + 1e-12).all()
    assert (error[:, kuhn.BET] < 0.1).all()


@KIND
@BY_NAME
def test_unseen_cards_never_change_the_choice(game: Game, kind: str) -> None:
    unseen_cards_change_nothing(game, kind, 24)


@pytest.mark.slow
@BY_POLICY
def test_unseen_cards_never_change_the_choice_by_a_policy(game: Game, count: int) -> None:
    unseen_cards_change_nothing(game, "search+policy", count)


def unseen_cards_change_nothing(game: Game, kind: str, count: int) -> None:
    batch = some_way_in(game, count)
    search = searching(kind, game)
    first = all_rows(batch)
    chosen, found = search.act(first), found_by(search, first)
    state, seats = batch.engine.batch.state, batch.time_step.seat.astype(np.int64)
    before = state.copy()
    batch.engine.determinize(state, seats, keys(len(state)) + np.uint64(1))
    assert (state != before).any() or game.num_seats == 1, "nothing was hidden, so nothing was tested"
    second = all_rows(batch)
    search = searching(kind, game)
    assert (search.act(second) == chosen).all()
    assert found_by(search, second) == found


def found_by(search: Agent, view: View) -> list[bytes]:
    """All that a search finds out, to the bit."""
    if isinstance(search, RacingAgent):
        return [array.tobytes() for array in search.analyse(view)]
    assert isinstance(search, SearchAgent)
    return [array.tobytes() for array in search.leads(view, np.arange(len(view)), view.action_mask.argmax(1))]


@KIND
@BY_NAME
def test_the_choice_does_not_depend_on_batch_or_threads(game: Game, kind: str) -> None:
    batch_and_threads_change_nothing(game, kind, 12)


@BY_POLICY
def test_the_choice_by_a_policy_does_not_depend_on_batch_or_threads(game: Game, count: int) -> None:
    batch_and_threads_change_nothing(game, "search+policy", count)


def batch_and_threads_change_nothing(game: Game, kind: str, count: int) -> None:
    batch = some_way_in(game, count)
    view = all_rows(batch)
    whole = searching(kind, game, 1).act(view)
    assert view.action_mask[np.arange(len(view)), whole].all()
    threaded = searching(kind, game, 2)
    assert (threaded.act(view) == whole).all()
    single = [threaded.act(view_of(batch, np.array([row]), keys(batch.num_envs)))[0] for row in range(batch.num_envs)]
    assert single == whole.tolist()
    threaded.close()


@KIND
def test_thinking_ends_with_the_clock(kind: str) -> None:
    game = game_of("missouri_city")
    batch = some_way_in(game, 4)
    search = agent(f"{kind}:100000:2", game)
    assert isinstance(search, (SearchAgent, RacingAgent))
    assert search.name == f"{kind}:100000:2"
    search.act(all_rows(batch))
    assert 4 <= search.rollouts < 100_000


def test_only_choices_are_thought_about() -> None:
    game = game_of("missouri_city")
    batch = some_way_in(game, 64)
    view = all_rows(batch)
    search = SearchAgent(game, 7)
    search.act(view)
    open_rows = view.action_mask.sum(1) > 1
    assert open_rows.any()
    assert not open_rows.all()
    assert search.rollouts == 7 * view.action_mask[open_rows].sum()


def test_a_rollout_is_what_the_bot_plays_for_everybody() -> None:
    """Asked for every card; a search does not ask where there is only one to play."""
    game = game_of("killer_bridge", length="single", hand_size=6)
    view, engine, table = all_rows(some_way_in(game, 12)), Engine(game, 1), Determinizations(game, 1)
    found = table.play(view, np.arange(12), view.action_mask, 0, 1)[:, 0]
    redraw, play = np.empty((12, 1), np.uint64), np.empty((12, 1), np.uint64)
    determinization_keys(view.key, 0, redraw, play)
    determinizations, bot, forced = view.redrawn(np.arange(12), redraw[:, 0]), BotAgent(game, "weigh"), 0
    for k, determinization in enumerate(determinizations):
        first = action = int(view.action_mask[k].argmax())
        engine.batch.state[0], engine.batch.decisions[0] = determinization, view.decisions[k]
        gained = 0.0
        while True:
            engine.move_one(action, engine.fresh_deck())
            gained += float(engine.batch.reward[0, view.seat[k]])
            if engine.batch.seat[0] == OVER:
                break
            key = np.array([rng.fork(play[k, 0], int(engine.batch.decisions[0]))], np.uint64)
            action = int(bot.choose(engine.batch.flat, engine.batch.mask, key)[0])
            forced += int(engine.batch.mask[0].sum()) == 1
        assert found[k, first] == gained
    assert forced > 12


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["mc:20", "search:48"])
@pytest.mark.release
def test_search_beats_the_bot_it_plays_on_with(spec: str) -> None:
    game = game_of("killer_bridge", length="single", hand_size=6)
    found = evaluate(game, [agent(spec, game), agent("bot", game)], deals=300, num_threads=2)
    assert found.agents[0].mean_return.low > 0


def test_a_search_plays_on_by_who_has_a_kernel() -> None:
    game = game_of("missouri_city")
    search = agent("search+policy:24", game)
    policy = agent("policy", game)
    assert isinstance(search, RacingAgent)
    assert (search.name, search.identity, search.note) == ("search+policy:24", policy.identity, policy.note)
    with pytest.raises(ValueError, match="mc:3 has no kernel, so it cannot play a search's rollouts"):
        RacingAgent(game, 24, player=agent("mc:3", game))
    folder = policy_for(game).folder
    for player, budget in (("bot", ":24"), ("bot:counter", ":24:1000"), (f"{folder}", ":12:50"), (f"{folder}", "")):
        by = agent(f"search+{player}{budget}", game)
        assert isinstance(by, RacingAgent)
        assert by.name.endswith(budget or f":{DETERMINIZATIONS}")
        assert (by._base.name, by.identity) == (agent(player, game).name, agent(player, game).identity)
    with pytest.raises(ValueError, match="comes with no policy"):
        agent("search+policy", KUHN)


@pytest.mark.parametrize("spec", ["search:24", "search+policy:24"])
def test_a_search_plays_on_in_another_process(spec: str) -> None:
    game = game_of("missouri_city")
    view, search = all_rows(some_way_in(game, 6)), agent(spec, game)
    assert (pickle.loads(pickle.dumps(search)).act(view) == search.act(view)).all()


# Races ----------------------------------------------------------------------------------------------------------------


def race(
    gains: list[list[float]], base: int = 0, z_threshold: float = 1.0
) -> tuple[list[int], int, npt.NDArray[np.float64]]:
    """Who is left of the actions that gained so much in each determinization (none where NaN), and what is decided."""
    values = np.array(gains).T.copy()
    running = np.ones(values.shape[1], np.int8)
    played = np.zeros(values.shape[1], np.int64)
    drop_hopeless(values, len(values), base, played, running)
    value, error = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    return np.flatnonzero(running).tolist(), decide(values, played, running, base, z_threshold, value, error), value


def test_who_trails_in_every_world_is_dropped() -> None:
    """The cards move both up and down together: what counts is the difference, determinization by determinization."""
    cards = [5.0, -7.0, 3.0, 0.0]
    left, chosen, value = race([cards, [card + 1 for card in cards], [card - 1 for card in cards]])
    assert left == [1]
    assert chosen == 1
    assert value == pytest.approx([0.25, 1.25, -0.75])


def test_who_trails_by_chance_stays() -> None:
    left, chosen, _ = race([[0.0, 0.0, 0.0, 0.0], [1.0, -1.0, 1.0, 0.0]])
    assert left == [0, 1]
    assert chosen == 0, "0.25 is less than a standard error"
    assert race([[0.0, 0.0, 0.0, 0.0], [1.0, -1.0, 1.0, 0.0]], z_threshold=0.5)[1] == 1


def test_among_equals_the_bots_action_is_played() -> None:
    for base in range(3):
        left, chosen, _ = race([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], base)
        assert left == [base]
        assert chosen == base


def test_a_game_declares_how_cautious_a_race_is() -> None:
    batch = BatchEnv(KUHN, 32, seed=0)
    batch.reset()
    view, bold = all_rows(batch), RacingAgent(KUHN, 24)
    bots = BotAgent(KUHN).act(view)
    assert (bold.act(view) != bots).any()
    cautious = RacingAgent(dataclasses.replace(kuhn.GAME, z_threshold=np.inf).bind(), 24)
    assert (cautious.act(view) == bots).all()
    assert cautious.rollouts == bold.rollouts


def test_what_a_race_finds_in_kuhn_poker() -> None:
    """Facing a bet with the king, a call wins 2 and a fold loses 1 in every determinization: the first round
    decides."""
    batch = BatchEnv(KUHN, 32, seed=0, autoreset=False)
    batch.reset()
    batch.step(np.full(32, kuhn.BET))
    view, search = all_rows(batch), RacingAgent(KUHN, 1000)
    found = search.analyse(view)
    king, queen = (np.flatnonzero(view.observation[:, card]) for card in (KING, QUEEN))
    assert (found.action[king] == kuhn.BET).all()
    assert (found.value[king] == [-1, 2]).all()
    assert (found.error[king] == 0).all()
    assert (found.determinizations[king] == FIRST).all()
    assert (found.determinizations[queen] > FIRST).any(), "against random play a queen wins as often as not: 0 or -1"
    assert (np.abs(found.value[queen, kuhn.BET]) <= 5 * found.error[queen, kuhn.BET]).all()
    assert FIRST < search.mean_determinizations < 1000
    assert search.rollouts == found.determinizations.sum()
