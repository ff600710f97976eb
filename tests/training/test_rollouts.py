"""Policy improvement by rollouts: targets, what is learned of them, margins, and how such a policy is played."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.agents.match import Match
from backalley.agents.policies import behaviour_digest, residual
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import JSON_FILE, PolicyFileError
from backalley.agents.registry import agent as agent_of
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.sample import seatings
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import CHANCE, OVER, Bot
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.game.game import Game
from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.config.config import ConfigError
from backalley.training.rollouts.opponents import reference_of
from backalley.training.rollouts.rollouts import Rollouts
from backalley.training.rollouts.validation import MARGINS, HeldOut, choices
from tests.common import high_card
from tests.common.cases import GAMES
from tests.training.test_policy import edit

GAME = kuhn.GAME.bind()
TINY = {
    "run.phases": "rollouts",
    "run.evaluation_deals": 16,
    "run.checkpoint_seconds": 0,
    "network.width": 16,
    "rollouts.tables": 48,
    "rollouts.targets": 8,
    "rollouts.held_out": 8,
    "rollouts.batch_size": 64,
    "rollouts.target_share": 0.6,
}
PASS, BET = 0, 1


def phase(folder: Path, game: Game = GAME, num_threads: int = 1, **more: Any) -> Rollouts:
    settings = {**TINY, **{name.replace("__", "."): value for name, value in more.items()}}
    made = Rollouts(game, config.load(game, overrides=settings), seed=3, folder=folder, num_threads=num_threads)
    made.begin()
    return made


def bytes_of(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in arrays.items()}


# Targets
# ---------------------------------------------------------------------------------------------------------------


def test_targets_are_what_the_cards_say(tmp_path: Path) -> None:
    """Facing a bet, Kuhn's last decision: a call wins or loses 2 where a fold loses 1, so it is 3 better or 1 worse;
    with the best card always better, with the worst always worse."""
    made = phase(tmp_path, rollouts__tables=200, rollouts__noise=0.0)
    made.step()
    targets, seen = made.targets, set()
    fields = {name: slice(place.start, place.stop) for name, place in GAME.observation_fields.items()}
    for row, count in enumerate(targets.made.tolist()):
        for place in range(count):
            shown, gain, advice = targets.flat[row, place], targets.gain[row, place], int(targets.advice[row, place])
            card, bets = int(shown[fields["card"]].argmax()), shown[fields["bets"]].reshape(3, 2)
            assert gain[advice] == 0
            if not bets[:, BET].any():
                continue
            call = float(gain[BET] - gain[PASS])
            assert call in {0: (-1.0,), 1: (-1.0, 3.0), 2: (3.0,)}[card]
            seen.add((card, call))
    assert seen == {(0, -1.0), (1, -1.0), (1, 3.0), (2, 3.0)}


@kernel
def double_or_nothing(options: Any, state: Any, action: int) -> None:
    """Who stays is dealt another card."""
    state.stays[0] = action
    state.seat = CHANCE if action else OVER


@kernel
def upper_half_wins(options: Any, state: Any, deck: npt.NDArray[Any]) -> None:
    state.card[0] = deck[0]
    state.seat = 0
    if state.stays[0]:
        state.reward[0] = 1.0 if deck[0] >= high_card.CARDS // 2 else -1.0
        state.seat = OVER


@pytest.mark.slow
def test_the_cards_of_rollouts_do_not_depend_on_the_lot_that_chose_them(tmp_path: Path) -> None:
    kernels = high_card.GAME.kernels._replace(step=double_or_nothing, deal=upper_half_wins)
    game = dataclasses.replace(high_card.GAME, kernels=kernels, cards_needed=lambda options: 1).bind(seats=1)
    made = phase(tmp_path, game, rollouts__target_share=0.1)
    made.step()
    taken = made.targets.made[:, None] > np.arange(8)
    gains = (made.targets.gain[..., 1] - made.targets.gain[..., 0])[taken]
    assert len(gains) == 48 * 8
    assert set(np.abs(gains)) == {1.0}
    assert abs(gains.mean()) < 4 / np.sqrt(len(gains))


def test_nothing_is_learned_from_tables_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, spoilt = phase(tmp_path, rollouts__own=0.0), phase(tmp_path, rollouts__own=0.0)
    honest.step()
    monkeypatch.setattr(spoilt, "_score", lambda taken: spoilt.targets.gain[spoilt.tables.held].fill(100.0))
    spoilt.step()
    assert bytes_of(honest.fitting.arrays()) == bytes_of(spoilt.fitting.arrays())
    assert honest.tables.held.sum() == 8
    assert (honest.tables.own[honest.tables.held]).all(), "there the policy plays, in one seat"


@pytest.mark.slow
def test_minibatches_rename_suits_and_mean_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is learned from is a target under other names: the observation permuted back, its gains and advice with
    it."""
    game = backalley.game("pitch")
    made, met = phase(tmp_path, game, network__features=False), []
    monkeypatch.setattr(made.fitting, "learn", lambda *args: met.append(args) or 0.0)
    made.step()
    count, rows, _ = met[0]
    shown, wanted, weights = rows(0, count)
    assert made.names.count == len(game.symmetries) == 24
    targets, size, permuted = made.targets, game.observation_size, set()
    for row in range(8):
        assert shown[row, size:].sum() == 1
        met_as = []
        for number, one in enumerate(game.symmetries):
            back = shown[row, :size][one.observation.argsort()]
            for place in np.argwhere((targets.flat == back).all(2)):
                gain, advice = targets.gain[tuple(place)][one.chosen], one.actions[targets.advice[tuple(place)]]
                learned = ~np.isnan(gain)
                learned[advice] = False
                expected = np.clip(np.nan_to_num(gain / np.float32(made.unit)), -4, 4)
                same = np.array_equal(expected, wanted[row]) and np.array_equal(learned, weights[row] > 0)
                met_as += [number] if same and shown[row, size + advice] else []
        assert met_as, "under some names it is a target that was made"
        permuted.add(met_as[0])
    assert len(permuted) > 1


# The margin -----------------------------------------------------------------------------------------------------------


def test_what_each_margin_plays() -> None:
    advantages = np.array([[0.5, 0.04, 0.25], [9.0, -1.0, -2.0], [0.1, 0.3, 9.0]])
    gain = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [0.0, 1.0, np.nan]])
    found = choices(advantages, np.array([0, 0, 0]), gain)
    assert found.shape == (3, len(MARGINS))
    assert found[0].tolist() == [2 if margin < 0.25 else 0 for margin in MARGINS]
    assert (found[1] == 0).all(), "what the network says of the bot's own action does not count"
    assert found[2].tolist() == [1 if margin < 0.3 else 0 for margin in MARGINS], "illegal actions are not chosen"
    assert (found[:, -1] == 0).all()


def test_the_margin_is_the_smallest_within_one_error_of_the_best() -> None:
    held, random = HeldOut(2), np.random.default_rng(0)
    assert held.best(0) == (MARGINS[-2], 0.0, 0.0)
    worth = np.array([0.0, 0.93, 1.0, 0.99, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0])
    wild, noisy = np.arange(10) == 0, np.arange(10) == 2
    for number in range(2000):
        gains = worth + np.where(noisy, random.normal(0, 0.1), 0) + np.where(wild, random.normal(0, 20.0), 0)
        held.add(np.array([0, 0]), np.array([number, number], np.int32), np.stack([gains, gains]) / 2, number // 100)
    margin, gain, error = held.best(19)
    assert margin == MARGINS[2], "neither one that is surely worse nor one that nobody knows"
    assert gain == pytest.approx(1, abs=0.01)
    assert error == pytest.approx(0.1 / np.sqrt(1000), rel=0.1)
    few = HeldOut(1)
    for number in range(40):
        gains = worth + np.where(noisy, random.normal(0, 2.0), 0)
        few.add(np.array([0]), np.array([number], np.int32), gains[None], 0)
    assert few.best(0)[0] == MARGINS[1], "where they cannot be distinguished, the smaller one"


def test_gains_are_summed_by_whole_episodes() -> None:
    held = HeldOut(2)
    ones = np.ones((5, len(MARGINS)))
    held.add(np.array([0, 0, 1, 0, 1]), np.array([0, 0, 7, 1, 8], np.int32), ones, 0)
    assert held.finished[:, 0].tolist() == [2.0, 1.0]
    held.add(np.array([0, 0]), np.array([1, 2], np.int32), ones[:2], 1)
    assert held.finished[:, 0].tolist() == [2.0, 1.0, 2.0]
    assert held.chunk.tolist() == [0, 0, 1]
    again = HeldOut(2)
    again.restore(held.arrays())
    assert bytes_of(again.arrays()) == bytes_of(held.arrays())


# How it is played -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Residual of Kuhn's random bot, learned for a moment."""
    place = tmp_path_factory.mktemp("residual")
    made = phase(place)
    for _ in range(30):
        made.step()
    made.margin = 0.05
    made.save_policy(place / "policy", {"command": "by hand"})
    made.save_before(place / "before", {})
    return place / "policy"


def test_corrections_better_the_bot(folder: Path) -> None:
    report = evaluate(GAME, [folder, "bot"], deals=2000)
    assert report.agents[0].mean_return.low > 0.2
    policy = PolicyAgent(folder, GAME)
    assert (policy.name, policy.greedy, policy.player.bot) == ("random+", True, "random")  # type: ignore[union-attr]
    with pytest.raises(TypeError, match="has no logits"):
        policy.logits(np.zeros((1, GAME.observation_size), np.uint8))
    with pytest.raises(PolicyFileError, match="no probabilities to draw by"):
        PolicyAgent(folder, GAME, greedy=False)
    assert PolicyAgent(folder, GAME, greedy=True).player == policy.player


def test_a_correction_is_the_best_action_beyond_the_margin() -> None:
    random = np.random.default_rng(1)
    for _ in range(300):
        advantages, mask = random.normal(size=6).astype(np.float32), random.integers(0, 2, 6).astype(np.int8)
        advice, margin = int(random.integers(6)), float(random.choice([0.0, 0.5, 1.0]))
        mask[advice] = 1
        others = np.where((mask == 1) & (np.arange(6) != advice), advantages, -np.inf)
        expected = int(others.argmax()) if others.max() > margin else advice
        assert residual.correction(advantages, mask, advice, margin) == expected


def test_matches_run_corrections_in_machine_code_and_play_what_views_play(folder: Path) -> None:
    """Without a margin it is what the bot plays."""
    streams, keys = np.arange(40).astype(np.uint64), np.arange(80).reshape(40, 2).astype(np.uint64)

    def played(player: Any, compiled: bool = True) -> Any:
        match = Match(GAME, [player, RandomAgent()], seatings(GAME, 2))
        assert match.compiled is compiled
        found = match.play(streams, keys)
        match.close()
        return found

    bot = played(BotAgent(GAME))
    for place in (folder, folder.parent / "before"):
        policy = agent_of(place, GAME)
        # Behind an object without a kernel, it plays through views.
        shell: Any = type("Shell", (), {"name": "shell", "act": lambda self, view, policy=policy: policy.act(view)})()
        for found, expected in zip(played(policy), played(shell, compiled=False), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert np.array_equal(played(policy)[0], bot[0]) == (place != folder)


@pytest.mark.parametrize(
    ("one", "bot"), [(one, bot) for one in GAMES for bot in one.type.bots if bot.quick], ids=lambda one: one.name
)
def test_a_bot_plays_as_its_rollouts_do_where_it_does_not_solve(one: Game, bot: Bot) -> None:
    """What is learned there by the rollouts corrects what the bot itself does."""
    assert bot.solves is not None
    assert bot.in_rollouts.act is bot.quick
    tables, random, solved, left = BatchEnv(one, 16, seed=3), np.random.default_rng(3), 0, 0
    step = tables.reset()
    for number in range(150):
        shown = tables.engine.batch.observation
        for row in range(16):
            key = np.uint64(number * 16 + row)
            if bot.solves(one.options, shown[row]):
                solved += 1
                continue
            left += 1
            given = one.options, shown[row], step.action_mask[row], key
            assert bot.act(*given) == bot.in_rollouts.act(*given)
        step = tables.step((random.random(step.action_mask.shape) * step.action_mask).argmax(1))
    assert min(solved, left) > 100


def test_what_learning_corrects_is_the_best_bot_that_is_fast_or_solves() -> None:
    found = {one.name: one.reference_bot.name for one in GAMES if one.reference_bot}
    expected = {"bezique": "strong", "killer_bridge": "weigh", "pitch": "book", "twenty_one": "dp"}
    assert {name: found[name] for name in expected if name in found} == {
        name: bot for name, bot in expected.items() if name in found
    }


def test_a_setting_names_the_bot_that_is_improved() -> None:
    game = backalley.game("pitch")
    for given, name in (("sharp", "sharp"), ("bot:sharp", "sharp"), ("bot", "book")):
        found = reference_of(game, config.load(game, overrides={"rollouts.base": given}).rollouts)
        assert found is not None
        assert found.name == name
    slow = backalley.game("killer_bridge")
    for other, named in ((game, "nobody"), (slow, "thirty_seven")):
        settings = config.load(other, overrides={"rollouts.base": named}).rollouts
        with pytest.raises(ConfigError, match=f"rollouts.base is {named}; it takes bot .* fast enough"):
            reference_of(other, settings)


def test_a_bot_that_plays_otherwise_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    player = json.loads((other / JSON_FILE).read_bytes())["player"]
    edit(other, player={**player, "behaviour_digest": "0" * 32})
    with pytest.raises(PolicyFileError, match="corrects bot:random as it played when the policy was trained"):
        PolicyAgent(other, GAME)
    edit(other, player={**player, "bot": "oracle"})
    with pytest.raises(PolicyFileError, match="corrects bot:oracle, and kuhn has no such bot"):
        PolicyAgent(other, GAME)
    for margin in (-1, "wide", float("nan"), True):
        edit(other, player={**player, "margin": margin})
        with pytest.raises(PolicyFileError, match=r"player that Back Alley does not make|not JSON"):
            PolicyAgent(other, GAME)


def test_a_fingerprint_tells_bots_apart_and_is_the_same_each_time() -> None:
    game = backalley.game("missouri_city")
    prints = {bot: behaviour_digest.behaviour_digest(game, bot) for bot in game.bots}
    assert len(set(prints.values())) == len(prints)
    behaviour_digest.behaviour_digest.cache_clear()
    assert behaviour_digest.behaviour_digest(game, "book") == prints["book"]


def test_a_game_without_bots_is_refused(tmp_path: Path) -> None:
    game = dataclasses.replace(kuhn.GAME, bots=()).bind()
    with pytest.raises(ConfigError, match="kuhn has no bot whose play a phase of rollouts could improve"):
        phase(tmp_path, game)


@pytest.mark.slow
def test_from_nothing_a_policy_betters_itself(tmp_path: Path) -> None:
    """In Kuhn poker a seat that is bet at has one right answer with the best card, and one with the worst."""
    alone = {
        "rollouts__base": "self",
        "rollouts__learned": "advantages",
        "rollouts__second": 0.0,
        "rollouts__noise": 0.2,
    }
    game = dataclasses.replace(kuhn.GAME, bots=()).bind()
    made = phase(tmp_path, game, **alone)
    for _ in range(30):
        made.step()
    assert made.policy_before() is None
    made.save_policy(tmp_path / "policy", {})
    policy = PolicyAgent(tmp_path / "policy", GAME)
    assert policy.metadata["made"]["met"] == []
    fields = GAME.observation_fields
    for card, action in ((0, PASS), (2, BET)):
        shown = np.zeros((1, GAME.observation_size), np.uint8)
        shown[0, fields["card"].start + card] = 1
        shown[0, fields["bets"].start + BET] = 1  # the first action was a bet
        assert policy.act(shown, np.ones((1, 2), np.int8)).tolist() == [action]


def test_what_is_learned_without_the_bots_action_is_a_plain_network(tmp_path: Path) -> None:
    made = phase(tmp_path, rollouts__learned="advantages")
    for _ in range(20):
        made.step()
    made.save_policy(tmp_path / "policy", {})
    assert made.policy_before() is None
    assert made.closing_words() == []
    policy = PolicyAgent(tmp_path / "policy", GAME)
    assert policy.reads == "vector"
    assert policy.greedy
    assert evaluate(GAME, [policy, "bot"], deals=1000).agents[0].mean_return.low > 0.1
