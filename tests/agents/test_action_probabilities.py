"""Agents tell the probabilities of their actions, and draw from exactly these."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley import testing
from backalley.agents.base.action_probabilities import NoProbabilities
from backalley.agents.base.agent import Agent, DirectAgent, View, as_agent, view_of
from backalley.agents.base.rule_based import BotAgent, KernelAgent, RandomAgent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_kinds import NetworkPlayer
from backalley.agents.policies.pretrained import pretrained
from backalley.agents.registry import agent
from backalley.envs.core.engine.batch_play import RANDOM_BOT, random_act
from backalley.envs.core.game.game import Game
from backalley.examples import leduc
from tests.common.cases import BY_NAME, own_shape
from tests.common.tiny_policies import elsewhere, made, residual

LEDUC = backalley.game("backalley.examples.leduc")
CHEMIN = backalley.game("baccarat", mode="chemin", decks=0)
BACKHAND = backalley.game("backhand")
DRAWS = 20_000


def view(game: Game, size: int = 64, moves: int = 3) -> View:
    """Tables after some random play."""
    batch = game.make_vec(size, seed=3)
    batch.reset()
    batch.play_random(moves)
    keys = np.random.default_rng(1).integers(2**63, size=size).astype(np.uint64)
    return view_of(batch, np.arange(size), keys)


def hold_drawn(player: DirectAgent, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8]) -> None:
    """Chi-square of the actions that many keys get at one position each, against what the agent tells."""
    given = player.probabilities(shown, mask)
    keys = np.random.default_rng(7).integers(2**64, size=DRAWS, dtype=np.uint64)
    for row, chances in enumerate(given):
        which = np.full(DRAWS, row)
        counts = np.bincount(player.choose(shown[which], mask[which], keys), minlength=len(chances))
        assert not counts[chances == 0].any()
        likely = chances > 0
        square = ((counts - DRAWS * chances) ** 2)[likely] / (DRAWS * chances)[likely]
        freedom = likely.sum() - 1
        assert square.sum() <= freedom + 5 * np.sqrt(2 * freedom) + 1e-6, (row, counts, chances)


def probabilities_of(player: Any, seen: View) -> npt.NDArray[np.float64]:
    """What every agent's probabilities are."""
    given: npt.NDArray[np.float64] = player.action_probabilities(seen)
    assert given.dtype == np.float64
    assert given.shape == seen.action_mask.shape
    assert (given >= 0).all()
    assert not given[seen.action_mask == 0].any()
    np.testing.assert_allclose(given.sum(1), 1, atol=1e-12)
    assert (given[np.arange(len(given)), player.act(seen)] > 0).all()
    if player.is_deterministic:
        assert np.isin(given, (0, 1)).all()
    return given


def shipped(game: Game) -> Iterator[Any]:
    """Every bot and pretrained policy, each in a game that it plays and that is compiled."""
    for name in game.bots:
        yield BotAgent(game, name)
    for policy in pretrained(game):
        if not own_shape(game, policy.metadata["options"]):
            yield PolicyAgent(policy.folder)


@pytest.mark.slow
@BY_NAME
@pytest.mark.sampled
def test_every_bot_and_policy_tells_its_probabilities(game: Game) -> None:
    for player in shipped(game):
        seen = view(player.game)
        probabilities_of(player, seen)
        mixed = np.flatnonzero(player.action_probabilities(seen).max(1) < 1)[:3]
        hold_drawn(player, seen.observation[mixed], seen.action_mask[mixed])


def test_random_players_draw_evenly() -> None:
    seen = view(LEDUC)
    for player in (RandomAgent(), BotAgent(LEDUC), agent("random", LEDUC)):
        given = probabilities_of(player, seen)
        np.testing.assert_array_equal(given, seen.action_mask / seen.action_mask.sum(1, keepdims=True))
    hold_drawn(BotAgent(LEDUC), seen.observation[:4], seen.action_mask[:4])


@pytest.mark.slow
def test_the_equilibrium_of_chemin_de_fer_is_drawn_as_shown() -> None:
    """A five draws 818,182 times of a million, a six after the Player stood 375,437 times (Kemeny and Snell)."""
    seen = view(CHEMIN, 512)
    counter = BotAgent(CHEMIN, "counter")
    given = probabilities_of(counter, seen)
    mixed = np.flatnonzero(given.max(1) < 1)
    assert {*given[mixed].max(1).tolist()} == {0.818182, 1 - 0.375437}
    _, first = np.unique(given[mixed].max(1), return_index=True)
    hold_drawn(counter, seen.observation[mixed[first]], seen.action_mask[mixed[first]])


def test_policies_draw_as_shown_by_themselves_and_after_a_bot_that_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = elsewhere(tmp_path, monkeypatch, leduc)
    seen = view(game)
    drawing = PolicyAgent(made(tmp_path / "drawing", game, player=NetworkPlayer(8, 1, False)), game)
    given = probabilities_of(drawing, seen)
    assert 0.5 < given.max(1).mean() < 1
    hold_drawn(drawing, seen.observation[:3], seen.action_mask[:3])
    np.testing.assert_array_equal(
        PolicyAgent(tmp_path / "drawing", game, greedy=True).action_probabilities(seen).argmax(1), given.argmax(1)
    )
    correcting = PolicyAgent(made(tmp_path / "correcting", game, player=residual(game, 0.0)), game)
    assert correcting.greedy
    assert not correcting.is_deterministic
    given = probabilities_of(correcting, seen)
    assert {*np.round(given.max(1), 6).tolist()} >= {0.5, 1.0}, "the network moves some of the bot's actions"
    hold_drawn(correcting, seen.observation[:8], seen.action_mask[:8])
    for player in (drawing, correcting):
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(player)).action_probabilities(seen), player.action_probabilities(seen)
        )


def test_networks_in_training_draw_as_shown() -> None:
    pytest.importorskip("torch", reason="networks in training need torch")
    from backalley.agents.policies.network import NetworkAgent, PolicyNetwork

    seen = view(LEDUC)
    network = PolicyNetwork(np.ones(LEDUC.observation_size), LEDUC.num_actions, width=8, layers=1)
    given = probabilities_of(NetworkAgent(network, "drawing"), seen)
    hold_drawn(NetworkAgent(network, "drawing"), seen.observation[:3], seen.action_mask[:3])
    greedy = NetworkAgent(network, "greedy", greedy=True)
    np.testing.assert_array_equal(probabilities_of(greedy, seen).argmax(1), greedy.act(seen))
    np.testing.assert_array_equal(given.argmax(1), greedy.act(seen))


def test_in_a_loop_of_ones_own() -> None:
    env, batch = BACKHAND.make(), BACKHAND.make_vec(5, seed=0)
    env.reset(seed=0)
    bot = BotAgent(BACKHAND)
    shown = env.observe(env.agent_selection)
    assert bot.action_probabilities(shown).tolist() == bot.action_probabilities(*shown.values()).tolist()
    assert bot.action_probabilities(shown).shape == (BACKHAND.num_actions,)
    step = batch.reset()
    given = bot.action_probabilities(step.observation, step.action_mask)
    assert given.shape == (5, BACKHAND.num_actions)
    np.testing.assert_array_equal(given.argmax(1), bot.act(step.observation, step.action_mask))
    with pytest.raises(ValueError, match="masks of 2 actions"):
        bot.action_probabilities(step.observation, np.ones((5, 2), np.int8))
    with pytest.raises(TypeError, match="was given no action_mask"):
        bot.action_probabilities(step.observation)


@pytest.mark.parametrize("name", ["mc:4", "search:4"])
def test_a_search_says_that_it_cannot_tell_and_is_estimated(name: str) -> None:
    search, seen = agent(name, LEDUC), view(LEDUC, 4)
    with pytest.raises(NoProbabilities, match=f"{name} draws by its key .* are not known; action_frequencies"):
        search.action_probabilities(seen)
    found = search.action_frequencies(seen, draws=20)
    np.testing.assert_allclose(found.sum(1), 1)
    assert not found[seen.action_mask == 0].any()
    np.testing.assert_array_equal(search.action_frequencies(seen, draws=20), found)
    with pytest.raises(ValueError, match="draws is 0; it takes a whole number of 1 or more"):
        search.action_frequencies(seen, draws=0)
    with pytest.raises(TypeError, match="draws is 'many'"):
        search.action_frequencies(seen, draws="many")  # type: ignore[arg-type]


def test_frequencies_come_near_what_is_shown() -> None:
    seen, player = view(LEDUC, 8), BotAgent(LEDUC)
    rows = player.frequencies(seen.observation, seen.action_mask, 4000)
    for found in (player.action_frequencies(seen, draws=4000), rows):
        np.testing.assert_allclose(found, player.action_probabilities(seen), atol=5 * 0.5 / np.sqrt(4000))


class Custom:
    """Plays the first legal action, and tells what it is given to tell."""

    def __init__(self, given: Any = None, **more: Any) -> None:
        self.given = given
        self.__dict__.update(more)

    def act(self, view: View) -> Any:
        return view.action_mask.argmax(1)


class Telling(Custom):
    def action_probabilities(self, view: View) -> Any:
        return view.action_mask / view.action_mask.sum(1, keepdims=True) if self.given is None else self.given


class Drawing(Custom):
    def act(self, view: View) -> Any:
        return np.where(view.key % 2 == 0, view.action_mask.argmax(1), 2 - view.action_mask[:, ::-1].argmax(1))


def test_ones_own_agents() -> None:
    seen = view(LEDUC, 16)
    with pytest.raises(NoProbabilities, match=r"Custom does not tell .* Let it define action_probabilities"):
        as_agent(Custom()).action_probabilities(seen)
    sure = as_agent(Custom(is_deterministic=True)).action_probabilities(seen)
    np.testing.assert_array_equal(sure.argmax(1), seen.action_mask.argmax(1))
    assert (sure.max(1) == 1).all()
    with pytest.raises(ValueError, match="Drawing says that it is deterministic, and answers two keys differently"):
        as_agent(Drawing(is_deterministic=True)).action_probabilities(seen)
    probabilities_of(as_agent(Telling()), seen)
    wrong = {
        "of shape \\(3,\\)": np.ones(3),
        "no array of numbers": [["a"]],
        "no distribution over the legal actions of row 0": np.zeros((16, 3)),
        "no distribution over": np.full((16, 3), np.nan),
    }
    for words, given in wrong.items():
        with pytest.raises(ValueError, match=f"Telling gave action probabilities .*{words}"):
            as_agent(Telling(given)).action_probabilities(seen)
    illegal = (1.0 - seen.action_mask) + 1e-9
    with pytest.raises(ValueError, match="no distribution"):
        as_agent(Telling(illegal / illegal.sum(1, keepdims=True))).action_probabilities(seen)
    with pytest.raises(NoProbabilities, match="does not tell"):
        KernelAgent("mine", random_act, LEDUC).action_probabilities(seen)
    with pytest.raises(NoProbabilities, match="does not tell"):
        Agent().action_probabilities(seen)


def test_a_bot_that_draws_and_does_not_say_so_is_found() -> None:
    silent = dataclasses.replace(LEDUC.type, bots=(RANDOM_BOT._replace(chances=None),)).bind()
    with pytest.raises(testing.BrokenPromise, match="bot random draws by its key, and has no `chances`"):
        testing.check_bots(silent)
