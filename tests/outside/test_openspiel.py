"""Our games in OpenSpiel, and OpenSpiel's players here."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import View
from backalley.envs.core.game.game import Game
from tests.common.cases import GAMES

KUHN = backalley.game("backalley.examples.kuhn")
LEDUC = backalley.game("backalley.examples.leduc")
EVERY = [KUHN, LEDUC, *GAMES]
BY_NAME = pytest.mark.parametrize("game", EVERY, ids=lambda game: game.name)


pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel (the extra `openspiel`) is not installed")
from backalley.openspiel import SpielAgent, game_string, register  # noqa: E402

WITH_EVENTS = [game for game in EVERY if game.type.events is not None]


def loaded(game: Game, chance: str = "explicit") -> Any:
    return pyspiel.load_game(game_string(game, chance))


def at_random(state: Any, random: np.random.Generator) -> int:
    """A legal action, or an outcome of chance."""
    if state.is_chance_node():
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        return int(random.choice(outcomes, p=chances))
    return int(random.choice(state.legal_actions()))


@pytest.mark.slow
@BY_NAME
@pytest.mark.parametrize("chance", ["explicit", "sampled"])
def test_openspiels_own_test_passes(game: Game, chance: str) -> None:
    """With sampled chance it cannot serialize: OpenSpiel's Python games have no RNG state that it could keep."""
    pyspiel.random_sim_test(loaded(game, chance), num_sims=2, serialize=chance == "explicit", verbose=False)


@pytest.mark.slow
@BY_NAME
def test_openspiel_writes_a_playthrough(game: Game) -> None:
    from open_spiel.python.algorithms import generate_playthrough

    text = generate_playthrough.playthrough(game_string(game), [], seed=1)
    assert f'GameType.short_name = "backalley_{game.name}"' in text
    assert "IsTerminal() = True" in text
    assert ("InformationStateString(0)" in text) == (game.type.events is not None)


@BY_NAME
def test_what_openspiel_plays_is_our_game(game: Game) -> None:
    """The same cards and actions by OpenSpiel's calls and by the AEC environment give the same, observation and all."""
    random, spiel = np.random.default_rng(3), loaded(game)
    state, outcome, deck = spiel.new_initial_state(), 0, []
    while state.is_chance_node():
        chosen = at_random(state, random)
        if state.action_to_string(pyspiel.PlayerId.CHANCE, chosen).startswith("start outcome"):
            outcome = chosen
        else:
            deck.append(chosen)
        state.apply_action(chosen)
    env = game.make(events=game.type.events is not None)
    env.reset(options={"decks": [deck], "start_outcome": outcome})
    returns = np.zeros(game.num_seats)
    for _ in range(20):
        if state.is_terminal() or state.is_chance_node():
            break
        for seat, agent in enumerate(env.possible_agents):
            shown = env.observe(agent)["observation"].astype(np.float32)
            assert np.array_equal(state.observation_tensor(seat), shown)
            if game.type.events is not None:
                assert state.information_state_string(seat) == env.information_state_string(agent)
                assert np.array_equal(state.information_state_tensor(seat), env.information_state_tensor(agent))
        mask = env.observe(env.agent_selection)["action_mask"]
        assert state.legal_actions_mask() == mask.tolist()
        action = at_random(state, random)
        assert state.action_to_string(state.current_player(), action) == game.action_str(action)
        env.step(action)
        state.apply_action(action)
        if not state.is_chance_node():
            returns += list(env.rewards.values())
            assert np.allclose(state.returns(), returns, atol=1e-6)
    assert spiel.num_players() == game.num_seats
    assert spiel.max_chance_outcomes() >= game.num_start_outcomes


@pytest.mark.parametrize("game", WITH_EVENTS, ids=lambda game: game.name)
def test_the_public_state_is_an_observation_of_nobodys(game: Game) -> None:
    from open_spiel.python import observation

    kinds, random, state = pyspiel.PrivateInfoType, np.random.default_rng(4), loaded(game).new_initial_state()
    public, nothing = (
        pyspiel.IIGObservationType(public_info=True, perfect_recall=recall, private_info=kinds.NONE)
        for recall in (True, False)
    )
    observer = observation.make_observation(loaded(game), public)
    for _ in range(30):
        if state.is_terminal():
            break
        shown = []
        for seat in range(game.num_seats):
            observer.set_from(state, seat)
            shown.append((observer.string_from(state, seat), observer.tensor.tobytes()))
        assert len(set(shown)) == 1
        assert shown[0][0] == state.state.public_state_string()
        assert observer.dict["events_count"][0] == len(state.state.public_events())
        state.apply_action(at_random(state, random))
    assert loaded(game).make_py_observer(nothing) is None


@BY_NAME
def test_states_are_cloned_and_pickled_in_the_middle(game: Game) -> None:
    random, state = np.random.default_rng(5), loaded(game).new_initial_state()
    for step in range(70):
        if state.is_terminal():
            break
        action = at_random(state, random)
        twins = [state.clone(), pickle.loads(pickle.dumps(state))] if step % 10 == 0 else []
        before = str(state), state.history()
        for twin in twins:
            twin.apply_action(action)
        assert (str(state), state.history()) == before
        state.apply_action(action)
        for twin in twins:
            assert (str(twin), twin.history(), twin.returns()) == (str(state), state.history(), state.returns())


def test_sampled_chance_draws_all_at_once_and_follows_from_rng_seed() -> None:
    def hands(seed: int, count: int = 60) -> list[str]:
        game, found = pyspiel.load_game(f"backalley_kuhn(chance=sampled,rng_seed={seed})"), []
        for _ in range(count):
            state = game.new_initial_state()
            assert state.chance_outcomes() == [(0, 1.0)]
            state.apply_action(0)
            found.append(state.information_state_string(0))
        return found

    register("backalley.examples.kuhn")
    assert hands(1) == hands(1) != hands(2)
    assert len(set(hands(1))) == 3


@BY_NAME
def test_resampling_keeps_what_the_seat_knows_and_redraws_the_rest(game: Game) -> None:
    random, state = np.random.default_rng(6), loaded(game).new_initial_state()
    resampled = Counter[str]()
    for _ in range(140):
        if state.is_terminal():
            break
        if not state.is_chance_node():
            seat = state.current_player()
            for _ in range(4):
                other = state.resample_from_infostate(seat, random.random)
                resampled[str(other.state._raw)] += 1
                assert other.observation_tensor(seat) == state.observation_tensor(seat)
                assert other.legal_actions() == state.legal_actions()
                if game.type.events is not None:
                    assert other.information_state_string(seat) == state.information_state_string(seat)
        state.apply_action(at_random(state, random))
    assert len(resampled) > 1


def test_options_are_parameters_of_the_game_string() -> None:
    chemin = backalley.game("baccarat", mode="chemin", stakes=(1, 2, 3, 4))
    for game in (backalley.game("poker_duel", num_games=3), chemin, LEDUC.type.bind(first=1)):
        spiel = loaded(game, "sampled")
        assert spiel.game == game
        assert pyspiel.load_game(str(spiel)).game == game
        assert "chance=sampled" in str(spiel)
    assert pyspiel.load_game("backalley_pitch(preset=letter)").game == backalley.game("pitch", preset="letter")


@pytest.mark.parametrize(
    ("string", "message"),
    [
        ("backalley_pitch(jocker=none)", "Unknown parameter 'jocker'. Available parameters are: .*joker"),
        ("backalley_poker_duel(num_games=0)", "poker_duel option num_games is 0; it takes 1"),
        ("backalley_poker_duel(num_games=few)", "Wrong type for parameter num_games"),
        ("backalley_pitch(joker=wild5)", "pitch option joker is 'wild5'; it takes"),
        ("backalley_pitch(preset=tiny1)", "pitch option preset is 'tiny1'; it takes"),
        ("backalley_pitch(chance=maybe)", r"chance is 'maybe'; it takes explicit \| sampled"),
    ],
)
def test_a_wrong_game_string_is_refused_in_a_sentence(string: str, message: str) -> None:
    with pytest.raises((ValueError, pyspiel.SpielError), match=message):
        pyspiel.load_game(string)


def test_the_number_of_players_is_a_parameter_as_in_openspiels_games() -> None:
    four = backalley.game("twenty_one", num_players=4)
    assert pyspiel.load_game("backalley_twenty_one", {"players": 4}).game == four
    assert pyspiel.load_game("backalley_kuhn", {"players": 2}).game == KUHN
    assert pyspiel.load_game("backalley_kuhn", {"players": 2}).new_initial_state().is_chance_node()
    with pytest.raises(ValueError, match=r"has 2 seats; players=3 was given"):
        pyspiel.load_game("backalley_kuhn", {"players": 3})


def test_an_illegal_action_is_openspiels_error_and_ours() -> None:
    state = loaded(backalley.game("backhand"), "sampled").new_initial_state()
    state.apply_action(0)
    before, illegal = str(state), state.legal_actions_mask().index(0)
    for kind in (pyspiel.SpielError, backalley.IllegalAction):
        with pytest.raises(kind, match="cannot play"):
            state.apply_action(illegal)
    assert str(state) == before


def test_two_games_of_one_name_are_refused() -> None:
    import dataclasses

    register(KUHN.type)
    register("backalley.examples.kuhn")
    with pytest.raises(ValueError, match="another game 'backalley_kuhn' already"):
        register(dataclasses.replace(KUHN.type, title="Another"))


# Algorithms of OpenSpiel ----------------------------------------------------------------------------------------------


def test_kuhn_poker_agrees_with_openspiels_own() -> None:
    from open_spiel.python import policy
    from open_spiel.python.algorithms import cfr, expected_game_score, exploitability

    ours, theirs, found = loaded(KUHN), pyspiel.load_game("kuhn_poker"), []
    for game in (ours, theirs):
        solver = cfr.CFRSolver(game)
        for _ in range(10):
            solver.evaluate_and_update_policy()
        learned = solver.average_policy()
        value = expected_game_score.policy_value(game.new_initial_state(), [learned] * 2)
        uniform = exploitability.nash_conv(game, policy.UniformRandomPolicy(game))
        found.append([uniform, exploitability.nash_conv(game, learned), *value])
    assert np.allclose(*found, rtol=0, atol=1e-9)
    assert found[0][0] == pytest.approx(11 / 12, abs=1e-9)


@pytest.mark.slow
def test_liars_dice_loses_what_openspiel_finds() -> None:
    """Of uniform play, and of CFR's average policy, which comes from there by information states."""
    from backalley.benchmarks.studies.play.openspiel_algorithms import liars_dice

    rows = list(liars_dice(3))
    assert len({row["what"] for row in rows}) == 4
    for row in rows:
        assert row["ours"] == pytest.approx(row["theirs"], abs=1e-9)
    assert rows[0]["ours"] == pytest.approx(1.5614886463844795, abs=1e-9)


@pytest.mark.parametrize("name", ["external", "outcome"])
def test_monte_carlo_cfr_learns_kuhn_poker(name: str) -> None:
    from open_spiel.python.algorithms import exploitability, external_sampling_mccfr, outcome_sampling_mccfr

    np.random.seed(0)  # noqa: NPY002 (theirs)
    game = loaded(KUHN)
    made = {
        "external": external_sampling_mccfr.ExternalSamplingSolver,
        "outcome": outcome_sampling_mccfr.OutcomeSamplingSolver,
    }
    solver, count = made[name](game), {"external": 100, "outcome": 700}[name]
    for _ in range(count):
        solver.iteration()
    assert exploitability.nash_conv(game, solver.average_policy()) < 0.5, "uniform play has 11/12"


# Players of OpenSpiel ------------------------------------------------------------------------------------------------


def test_a_policy_of_openspiel_plays_here_as_it_says() -> None:
    from open_spiel.python import policy

    game = loaded(KUHN)
    table = policy.TabularPolicy(game)
    table.action_probability_array[:] = (0.75, 0.25)
    agent = SpielAgent(table, KUHN, name="mostly passes")
    batch = KUHN.make_vec(400, seed=1, events=True)
    batch.reset()
    view = View(batch, np.arange(400), np.random.default_rng(1).integers(2**63, size=400).astype(np.uint64))
    assert np.array_equal(agent.action_probabilities(view), np.tile([0.75, 0.25], (400, 1)))
    actions = agent.act(view)
    assert np.array_equal(actions, agent.act(view)), "drawn by the key"
    assert 60 < actions.sum() < 140
    report = backalley.evaluate(KUHN, [agent, "random"], deals=20)
    assert report.deals == 20


def test_a_policy_of_openspiels_own_game_loses_here_what_it_loses_there(tmp_path: Path) -> None:
    """Three iterations of CFR in its Leduc poker, which deals the public card after the first round; a search that has
    only seen the policy play gains no more than that."""
    from backalley.benchmarks.exact.exploit import exploitability
    from backalley.benchmarks.studies.play.openspiel_algorithms import position

    theirs = pyspiel.load_game("leduc_poker")
    solver = pyspiel.CFRSolver(theirs)
    for _ in range(3):
        solver.evaluate_and_update_policy()
    learned = solver.tabular_average_policy()
    agent = SpielAgent(learned, LEDUC, position=position(theirs, "card"))
    loss = exploitability(LEDUC, [agent]).agents[0].mean_loss
    assert loss == pytest.approx(pyspiel.nash_conv(theirs, learned) / 2, abs=1e-9)
    found = backalley.attack(LEDUC, agent, attackers="search", decisions=1, deals=40, out=tmp_path / "attack")
    assert found.gain.low < loss


def test_attacks_on_what_it_learned_are_measured_exactly() -> None:
    from backalley.benchmarks.studies.play.small_attacks import small_attacks

    found = small_attacks(2, 4_000)
    assert len(found.found["rows"]) == 8
    for row in found.found["rows"]:
        assert row["gain"] <= row["exact"] + 1e-9
    assert "finds at least" in found.title


def test_bots_of_openspiel_play_here() -> None:
    from open_spiel.python.algorithms import ismcts, mcts
    from open_spiel.python.bots import uniform_random

    random = np.random.RandomState(0)
    rollout = mcts.RandomRolloutEvaluator(1, random)
    game = loaded(KUHN, "sampled")
    search = ismcts.ISMCTSBot(game, rollout, uct_c=2.0, max_simulations=20, random_state=random)
    seated = [uniform_random.UniformRandomBot(seat, random) for seat in range(2)]
    agents = [SpielAgent(search, KUHN, chance="sampled"), SpielAgent(seated, KUHN, name="seated")]
    report = backalley.evaluate(KUHN, agents, deals=10)
    assert report.deals == 10
    batch = KUHN.make_vec(1, seed=1, events=True)
    batch.reset()
    view = View(batch, np.zeros(1, np.int64), np.ones(1, np.uint64))
    with pytest.raises(ValueError, match="does not tell the probabilities of its actions"):
        agents[0].action_probabilities(view)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: SpielAgent(object(), KUHN), TypeError, "is no player of OpenSpiel: a bot has step"),
        (lambda: SpielAgent(pyspiel.Bot, KUHN), TypeError, "is no player of OpenSpiel"),
        (lambda: SpielAgent([pyspiel.Bot()] * 3, KUHN), ValueError, "3 players were given for 2 seats"),
        (lambda: SpielAgent(pyspiel.Bot(), KUHN, chance="no"), ValueError, "chance is 'no'; it takes"),
    ],
)
def test_what_is_no_player_is_refused(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_a_process_that_imports_it_ends_well() -> None:
    """OpenSpiel gives up what was registered after Python has ended."""
    code = "import backalley.openspiel, pyspiel; print(pyspiel.load_game('backalley_backhand').num_players())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "1", "")
