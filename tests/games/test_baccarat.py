"""What vectors cannot say of baccarat: exact odds through the rules' own kernels, equilibria, fair shoes, and modes in
combination."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import backalley
from backalley.envs.baccarat import bot, coup, odds, text
from backalley.envs.baccarat.state import BANK, BANKER_TURN, DRAW, NATURAL, PLAYER, STAND, STOOD, TIE, BankerRule
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.catalogue import game_type
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules.options import OptionError
from tests.common.cases import asked, determinizations_of
from tests.common.commands import run

GAME = game_type("baccarat").bind()

enumerates = pytest.mark.skipif(not COMPILED, reason="a million coups")

# Rules page, reference figures: exact counts of Player, Banker, tie.
COUNTS = {
    1: (6_548_674_432, 6_737_232_640, 1_372_227_328),
    8: (2_230_518_282_592_256, 2_292_252_566_437_888, 475_627_426_473_216),
    "inf": (2_153_464, 2_212_744, 460_601),
}
# Gain of a unit on PLAYER, on BANK, on TIE at 8 and at 9 to 1.
GAINS = {
    1: (-0.012864, -0.010117, -0.157461, -0.063846),
    8: (-0.012351, -0.010579, -0.143596, -0.048440),
    "inf": (-0.012281, -0.010640, -0.141170, -0.045744),
}
# On a five: the Player side's value where it draws, where it stands; gain of PLAYER if fives always stand.
FIVES = {
    1: (-0.179650, -0.210221, -0.015815),
    6: (-0.179379, -0.209574, -0.015242),
    8: (-0.179360, -0.209526, -0.015214),
    "inf": (-0.179300, -0.209376, -0.015129),
}


@enumerates
@pytest.mark.parametrize("decks", COUNTS)
def test_every_coup_counted(decks: Any) -> None:
    found = odds.odds(GAME.bind({"mode": "punto_banco", "decks": decks}))
    assert found.wins == COUNTS[decks]
    assert found.total == (13**6 if decks == "inf" else math.perm(52 * decks, 6))
    bets = ((PLAYER, 9), (BANK, 9), (TIE, 8), (TIE, 9))
    gains = [float(odds.bet_value(GAME.bind({"tie_pays": pays}), found, side)) for side, pays in bets]
    assert gains == pytest.approx(GAINS[decks], abs=5e-7)


@enumerates
def test_how_long_coups_are_and_how_often_naturals_come() -> None:
    tally = odds.odds(GAME).tally
    cards = tally.sum(axis=(0, 1, 4))
    shares = np.array([cards[0, 0], cards[0, 1] + cards[1, 0], cards[1, 1]]) / tally.sum()
    assert shares == pytest.approx([0.378868, 0.303444, 0.317687], abs=5e-7)
    assert 1 - tally[:NATURAL, :NATURAL].sum() / tally.sum() == pytest.approx(0.343049, abs=5e-7)
    assert tally[NATURAL:].sum() / tally.sum() == pytest.approx(0.189435, abs=5e-7)


@enumerates
@pytest.mark.parametrize(
    ("rule", "chances", "gains"),
    [
        ("third_card", (0.446247, 0.458597, 0.095156), (-0.012351, -0.010579)),
        ("table_only", (0.460743, 0.448245, 0.091012), (0.012498, -0.034910)),
        ("total", (0.455389, 0.464023, 0.080588), (-0.008634, -0.014567)),
    ],
)
def test_the_three_readings_of_the_bankers_table(
    rule: str, chances: tuple[float, ...], gains: tuple[float, ...]
) -> None:
    game = GAME.bind({"banker_rule": rule})
    found = odds.odds(game)
    assert [float(found.share(side)) for side in (PLAYER, BANK, TIE)] == pytest.approx(chances, abs=5e-7)
    assert [float(odds.bet_value(game, found, side)) for side in (PLAYER, BANK)] == pytest.approx(gains, abs=5e-7)


@enumerates
@pytest.mark.parametrize("decks", FIVES)
def test_drawing_or_standing_on_a_five(decks: Any) -> None:
    game = GAME.bind({"decks": decks})
    found = {five: odds.odds(game, five) for five in (DRAW, STAND)}
    values = []
    for five in (DRAW, STAND):
        player, bank, tie = found[five].tally[5].sum((0, 1, 2)).tolist()
        values.append((player - bank) / (player + bank + tie))
    assert (*values, float(odds.bet_value(game, found[STAND], PLAYER))) == pytest.approx(FIVES[decks], abs=5e-7)
    if decks == 8:
        shares = [float(found[STAND].share(side)) for side in (PLAYER, BANK, TIE)]
        assert shares == pytest.approx([0.446432, 0.461645, 0.091923], abs=5e-7)


@enumerates
def test_chemin_by_totals_is_kemeny_and_snells() -> None:
    found = odds.chemin(GAME.bind({"mode": "chemin", "decks": "inf", "banker_sees": "total"}))
    best = found.equilibrium()
    assert best.value == Fraction(-679568, 53094899)
    assert best.draws == Fraction(9, 11)
    assert best.mixed == (6, -1, STOOD)
    assert best.mixed_draws == Fraction(859, 2288)
    assert found.value(Fraction(1)) == Fraction(-66016, 4826809)
    assert found.value(Fraction(0)) == Fraction(-74176, 4826809)
    assert len(found.seen) == 88
    for (points, _, third), draws in best.answers.items():
        if (points, third) != (6, STOOD):
            assert draws == coup.banker_draws(BankerRule.THIRD_CARD, points, third, 0), (
                "the source's table is the equilibrium's"
            )


@enumerates
@pytest.mark.parametrize(
    ("decks", "draw", "stand"),
    [(1, -0.0147237138, -0.0162212905), (6, -0.0138134907, -0.0155006731), (8, -0.0137761622, -0.0154672846)],
)
def test_chemin_by_cards(decks: int, draw: float, stand: float) -> None:
    found = odds.chemin(GAME.bind({"mode": "chemin", "decks": decks}))
    assert len(found.seen) == 44 * 11
    assert float(found.value(Fraction(1))) == pytest.approx(draw, abs=5e-11)
    assert float(found.value(Fraction(0))) == pytest.approx(stand, abs=5e-11)
    best = found.equilibrium()
    assert all(found.value(Fraction(k, 50)) <= best.value for k in range(51))
    if decks == 8:
        assert best.draws == Fraction(163305, 201968)
        assert (best.mixed, best.mixed_draws) == ((0, 6, STOOD), Fraction(490310615, 774749248))
        assert best.value == Fraction(-1059778909061461, 82154663322498585)


@enumerates
@pytest.mark.parametrize("decks", range(1, 9))
def test_chemin_by_a_linear_program(decks: int) -> None:
    """All coups counted a second time, and the Player's best probability found without the solver: the most that each
    case of the Banker leaves, whatever the Banker answers there."""
    decided, gains = gains_of_chemin(decks)
    found = odds.chemin(GAME.bind({"mode": "chemin", "decks": decks}))
    rows = [
        [slope if place == 0 else -(place == number) for place in range(len(gains) + 1)]
        for number, lines in enumerate(gains, 1)
        for _, slope in lines
    ]
    limits = [constant for lines in gains for constant, _ in lines]
    costs = [0.0] + [-1.0] * len(gains)
    bounds = [(0.0, 1.0)] + [(None, None)] * len(gains)
    solved = linprog(costs, -np.array(rows), limits, bounds=bounds)
    best = found.equilibrium()
    assert len(gains) == len(found.seen) == 484
    assert decided - solved.fun == pytest.approx(float(best.value), abs=1e-10)
    assert solved.x[0] == pytest.approx(float(best.draws), abs=1e-6)


def gains_of_chemin(decks: int) -> tuple[float, list[list[tuple[float, float]]]]:
    """What the Player gains where a natural decides, and by the Banker's cards, the third card and the Banker's two
    answers: `a + b p` if the Player draws to a five with probability p."""
    left = [16 * decks] + [4 * decks] * 9
    decided, gains = 0, dict[tuple[int, int, int], list[list[int]]]()
    for first, second, one, other in itertools.product(range(10), repeat=4):
        weight, rest = 1, left.copy()
        for card in (first, second, one, other):
            weight, rest[card] = weight * rest[card], rest[card] - 1
        player, banker = (first + second) % 10, (one + other) % 10
        if max(player, banker) >= NATURAL:
            decided += weight * sum(rest) * (sum(rest) - 1) * int(np.sign(player - banker))
            continue
        for third in [STOOD] if player > 5 else range(10) if player < 5 else range(11):
            drew, held = third != STOOD, rest.copy()
            drawn, final = held[third] if drew else sum(held), (player + third * drew) % 10
            if drew:
                held[third] -= 1
            cards = sum(held) if drew else sum(held) - 1  # the third card of a hand that stands, unseen
            lines = gains.setdefault((min(one, other), max(one, other), third), [[0, 0], [0, 0]])
            stands = weight * drawn * cards * int(np.sign(final - banker))
            drawing = sum(held[card] * int(np.sign(final - (banker + card) % 10)) for card in range(10))
            draws = weight * drawn * cards * drawing / sum(held)
            for line, gain in zip(lines, (stands, draws), strict=True):
                line[0] += gain * (player != 5 or not drew)
                line[1] += gain * (player == 5) * (1 if drew else -1)
    total = math.perm(52 * decks, 6)
    return decided / total, [[(a / total, b / total) for a, b in lines] for lines in gains.values()]


def bankers_chance(game: Game, seen: tuple[int, int, int]) -> Fraction:
    """How likely the bot draws, shown this."""
    observation = np.zeros(1, game.observation_dtype)[0]
    low, high, third = seen
    observation["total"][BANK, (low + max(high, 0)) % 10] = 1
    observation["third"][third] = 1
    if high >= 0:
        observation["hand"][BANK, 0, low] = observation["hand"][BANK, 1, high] = 1
    return Fraction(int(bot.banker_chance(game.options, observation)), bot.MILLION)


@enumerates
@pytest.mark.parametrize(
    ("decks", "sees", "most"),
    [("inf", "total", 1e-6), (8, "composition", 1e-6), (6, "composition", 1e-4), (1, "composition", 1e-3)],
)
def test_the_bot_of_chemin_can_hardly_be_exploited(decks: Any, sees: str, most: float) -> None:
    """What either side gains by answering the bot as well as possible, over what the equilibrium gives it."""
    game = GAME.bind({"mode": "chemin", "decks": decks, "banker_sees": sees})
    found = odds.chemin(game)
    value = found.equilibrium().value
    draws = Fraction(bot.FIVE_BY_TOTALS if sees == "total" else bot.FIVE_BY_CARDS, bot.MILLION)
    assert 0 <= float(value - found.value(draws)) < most
    lines = found.lines()
    chances = [bankers_chance(game, seen) for seen in found.seen]
    answered = [(1 - chance) * line[0] + chance * line[1] for chance, line in zip(chances, lines, strict=True)]
    replies = [(found.decided + sum(a + b * five for a, b in answered)) / Fraction(found.total) for five in (0, 1)]
    assert 0 <= float(max(replies) - value) < most


@enumerates
@pytest.mark.parametrize(
    "rule", ["third_card", *(pytest.param(rule, marks=pytest.mark.slow) for rule in ("table_only", "total"))]
)
def test_the_bots_count_is_what_removing_a_card_does(rule: str) -> None:
    game = GAME.bind({"banker_rule": rule})
    whole, counts = odds.odds(game), odds.full_counts(game)
    for side in (PLAYER, BANK, TIE):
        assert bot.COMES[game.options.banker_rule][side] == pytest.approx(float(whole.share(side)), abs=5.1e-8)
    for value in range(10):
        left = counts.copy()
        left[value] -= 1
        without = odds.odds(game, counts=left)
        for side in (PLAYER, BANK, TIE):
            change = float(without.share(side) - whole.share(side)) * 1e6
            assert bot.REMOVED[game.options.banker_rule][side][value] == pytest.approx(change, abs=0.051)


def test_worlds_redrawn_at_a_five_are_even_over_what_is_possible() -> None:
    """The Banker's two values, seen by the Player who has a five: in proportion to the cards left, without naturals."""
    env = backalley.make("baccarat-v0", mode="chemin", decks=1)
    env.reset(seed=0, options={"decks": [["2C", "9H", "3D", "5S"]]})
    left = np.array([16, 4, 3, 3, 4, 4, 4, 4, 4, 4])
    exact = np.zeros((10, 10))
    for one, two in itertools.product(range(10), repeat=2):
        if (one + two) % 10 < NATURAL:
            exact[one, two] = left[one] * (left[two] - (one == two))
    trials = 40_000 if COMPILED else 500
    found = np.zeros((10, 10))
    states = determinizations_of(env, 0, trials)
    values = np.array([coup.value(card) for card in range(52)])
    np.add.at(found, (values[states["shoe"][:, 1]], values[states["shoe"][:, 3]]), 1)
    assert not found[exact == 0].any()
    expected = (exact / exact.sum() * trials)[exact > 0]
    squares = ((found[exact > 0] - expected) ** 2 / expected).sum()
    degrees = len(expected) - 1
    assert squares < degrees + 5 * math.sqrt(2 * degrees), (
        f"chi-squared with {degrees} degrees of freedom is {squares:.1f}"
    )


def totals_of(determinizations: Any, hand: int) -> set[int]:
    """Two-card totals that a hand has over the determinizations."""
    values = np.array([coup.value(card) for card in range(52)])
    return set(
        (
            (values[determinizations["shoe"][:, hand] % 52] + values[determinizations["shoe"][:, hand + 2] % 52]) % 10
        ).tolist()
    )


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("deck", "given", "player"),
    [
        (["2C", "3D", "2D", "3H", "9S"], {}, {0, 1, 2, 3, 4, 5}),  # drew: a nought to four, or a five that chose to
        (["2C", "3D", "5D", "3H", "9S"], {}, {5, 6, 7}),  # stood: a six or seven, or a five that chose to
        (["2C", "3D", "5D", "3H", "9S"], {"chemin_player_free": True, "stands": True}, set(range(8))),
        (["2C", "3D", "2D", "3H", "9S"], {"banker_sees": "total"}, {0, 1, 2, 3, 4, 5}),
    ],
)
def test_the_banker_infers_the_players_total_from_what_he_did(
    deck: list[str], given: dict[str, Any], player: set[int]
) -> None:
    chosen = {name: value for name, value in given.items() if name != "stands"}
    env = AECEnv(GAME.bind({"mode": "chemin", "decks": 1, **chosen}))
    env.reset(seed=0, options={"decks": [deck]})
    if "stands" in given:
        env.step(STAND)
    state = env.engine.batch.state[0]
    assert (state["phase"], state["seat"]) == (BANKER_TURN, BANK)
    determinizations = determinizations_of(env, BANK, 300)
    assert totals_of(determinizations, PLAYER) == player
    assert totals_of(determinizations, BANK) == {6}
    own = determinizations["shoe"][:, [1, 3]]
    assert (len(np.unique(own, axis=0)) == 1) == ("banker_sees" not in given)
    if state["player_drew"]:
        assert set(determinizations["shoe"][:, 4].tolist()) == {text.card_number("9S")}


@pytest.mark.uncompiled
def test_bystanders_know_the_five_and_bets_not_their_own_are_hidden_until_all_are_placed() -> None:
    env = AECEnv(GAME.bind({"num_bettors": 3, "hands_declared": "off", "participant": "player_backer"}))
    env.reset(seed=0, options={"decks": [["2C", "2D", "3C", "4C"]]})
    for seat, bet in enumerate(("bank 5", "player 2", "tie 1")):
        determinizations = determinizations_of(env, seat, 300)
        for other in range(3):
            assert len(set(determinizations["bets"][:, other].tolist())) == (13 if other < seat else 1)
        if seat > 0:
            assert set(determinizations_of(env, 0, 300)["bets"][:, 0].tolist()) == {GAME.action_number("bank 5")}
        env.step(GAME.action_number(bet))
    assert env.engine.batch.seat[0] == 1
    for viewer in range(3):
        determinizations = determinizations_of(env, viewer, 300)
        assert len(np.unique(determinizations["bets"], axis=0)) == 1
        assert totals_of(determinizations, PLAYER) == {5}
        assert totals_of(determinizations, BANK) == set(range(8))
        assert (len(set(determinizations["shoe"][:, 0].tolist())) == 1) == (viewer == 1)


@pytest.mark.parametrize(
    ("given", "bet"),
    [
        ({}, "no bet"),
        ({"allow_no_bet": False}, "bank 1"),
        ({"commission": 0}, "bank 10"),
        ({"commission": 0, "decks": "inf"}, "bank 10"),
        ({"tie_pays": 10}, "tie 10"),
        ({"tie_pays": 10, "decks": "inf", "stakes": [3]}, "tie 3"),
        ({"banker_rule": "table_only"}, "player 10"),
        ({"banker_rule": "total"}, "no bet"),
        ({"banker_rule": "total", "allow_no_bet": False}, "player 1"),
    ],
)
def test_the_counter_knows_what_a_tables_rules_make_of_the_bets(given: dict[str, Any], bet: str) -> None:
    """The exact gains of §6.1 and §7.1: the side with the greatest, bet if it is above nothing or betting is
    compulsory."""
    env = AECEnv(GAME.bind(given))
    env.reset(seed=0)
    assert asked(env, "counter") == bet


def test_odds_ask_for_the_right_game_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r'no bets in mode "chemin": ask for odds\.chemin'):
        odds.odds(GAME.bind(mode="chemin"))
    with pytest.raises(OptionError, match="leave them out"):
        odds.chemin(GAME.bind(num_bettors=2))
    done = run("dev", "odds", "baccarat", "packs=8")
    assert (done.exit_code, "no option 'packs'" in done.output) == (2, True), done.output


def test_cards_are_named_by_face_and_pack() -> None:
    assert [text.card_name(card) for card in (7, 52 + 7, 415)] == ["9C", "9C.2", "AS.8"]
    assert all(text.card_number(text.card_name(card)) == card for card in range(624))
    assert text.card_number(" 9c.1 ") == 7
    for bad in ("9C.", "9C.0", "9C.x", "9X"):
        with pytest.raises(ValueError, match="There is no card"):
            text.card_number(bad)
