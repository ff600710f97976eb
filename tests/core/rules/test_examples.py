"""Kuhn and Leduc poker, Liar's Dice, Schnapsen: what every game keeps, and published figures."""

from __future__ import annotations

import pytest

import backalley
from backalley import testing
from backalley.agents.base.rule_based import RandomAgent
from backalley.benchmarks.exact.exploit import exploitability
from backalley.benchmarks.exact.solver import solver_of
from backalley.envs.core.game.game import Game
from backalley.testing.report import NOT_TRIED

KUHN, LEDUC, DICE = (backalley.game(f"backalley.examples.{name}") for name in ("kuhn", "leduc", "liars_dice"))
SCHNAPSEN = backalley.game("backalley.examples.schnapsen")
EACH = pytest.mark.parametrize("game", [KUHN, LEDUC, DICE, SCHNAPSEN], ids=lambda game: game.name)


@EACH
def test_their_rules_are_their_vectors(game: Game) -> None:
    assert NOT_TRIED not in testing.check_vectors(game) + testing.check_playthroughs(game)


@pytest.mark.slow
@EACH
def test_they_keep_what_every_game_keeps(game: Game) -> None:
    report = testing.check_game(game, episodes=2)
    assert report.ok, str(report)
    tried = {finding.name for finding in report.findings if not finding.says.startswith(NOT_TRIED)}
    assert tried >= {
        "vectors",
        "events",
        "playthroughs",
        "masks",
        "leaks",
        "redraws",
        "cards",
        "returns",
        "seeds",
        "compiled",
    }


@EACH
def test_they_are_found_by_their_import_paths_alone(game: Game) -> None:
    assert game.name not in backalley.game_names()
    with pytest.raises(backalley.UnknownGame):
        backalley.game(game.name)
    assert game.spec == f"backalley.examples.{game.name}"


def test_each_rule_of_schnapsen_has_a_case() -> None:
    assert "; 7 of 7 §." in testing.check_reach(SCHNAPSEN)


@pytest.mark.slow
def test_the_bot_of_schnapsen_beats_random_play() -> None:
    report = backalley.evaluate(SCHNAPSEN, ["bot", "random"], deals=400)
    assert report.agents[0].mean_return.low > 0.2


@pytest.mark.slow
def test_leduc_has_its_published_figures() -> None:
    """Its value, and what uniform play loses to a best response in each seat, as OpenSpiel's page and tests have them;
    288 information sets, suits merged."""
    found = exploitability(LEDUC, [RandomAgent()])
    assert found.information_sets == (144, 144)
    assert found.value[0] <= -0.0856064 <= found.value[1]
    (uniform,) = found.agents
    assert uniform.held[1] - uniform.held[0] == pytest.approx(4.747222222222222, abs=1e-12)  # NashConv


@pytest.mark.slow
def test_liars_dice_has_openspiels_figures() -> None:
    """What uniform play loses to a best response in each seat is what OpenSpiel 2.0.2 finds, and the value is that of a
    linear program over the sequences of both seats."""
    solver = solver_of(DICE)
    assert solver.information_sets == 24_576
    held = solver.guaranteed(solver.action_mask / solver.action_mask.sum(axis=1, keepdims=True))
    assert held == pytest.approx((-0.7659970238095238, 0.7954916225749558), abs=1e-12)
    found = solver.equilibrium(within=0.002)
    assert found.low <= -7 / 258 <= found.high
