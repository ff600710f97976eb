"""Tables with rows of each game: options that it refuses in a sentence (test_aec.py has what every game refuses), which
of its bots beats which, and bots that play as they did."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import backalley
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.files.playthrough import load, record
from tests.common.cases import GAMES, label, marks

NUMBERS = "it takes 1 to 13 numbers, each 1..10000"
PURSES = "one number of 1 or more for everybody, or one for each bettor"
SHARES = r"it takes 3 numbers, each 0\.001\.\.1 in steps of 0\.001"
SEVENS = r"leave \d+ cards; .* even number of \d+ to \d+"
SMALL_PACK = r"leave \d+ cards; a deal may take \d+"
SOLO: dict[str, Any] = {"teams": "solo"}
REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "baccarat": [
        ({"banker_policy": "free"}, 'only in mode "chemin"'),
        ({"chemin_player_free": True}, 'needs mode="chemin"'),
        ({"mode": "chemin", "num_bettors": 2}, "leave them out"),
        ({"mode": "chemin", "purses": 100}, "leave them out"),
        ({"num_bettors": 3, "purses": [5, 6]}, PURSES),
        ({"num_bettors": 3, "purses": [5, 0, 6]}, PURSES),
        ({"banker": "rotating"}, "needs 2 to 8 bettors"),
        ({"decks": "inf", "reshuffle": "shoe"}, "exclude each other"),
        ({"num_coups": "shoe"}, 'needs reshuffle="shoe"'),
        ({"stakes": [0, 5]}, "one to four different numbers"),
        ({"stakes": [5, 5]}, "one to four different numbers"),
        ({"stakes": [1, 2, 3, 4, 5]}, "takes 1 to 4 numbers"),
        ({"decks": "lots"}, '"inf" \\(0\\)'),
    ],
    "bezique": [
        ({"cards_dealt": 9}, "cards_dealt"),
        ({"cards_dealt": 7}, SEVENS),
        ({"suits": 1, "copies": 1, "lowest": "eight", "cards_dealt": 2}, SEVENS),
        ({"lowest": "ace", "highest": "ten"}, "lowest is a higher rank than highest"),
        ({"last_trick": "trick_25"}, "last_trick"),
    ],
    "killer_bridge": [
        ({"num_players": 3, "first_dealer": 3}, "with 3 players it takes 0..2 or 'random'"),
        ({"length": "single", "hand_size": 14}, "4 players get at most 13 cards each"),
        ({"hand_size": 3}, "it needs length='single'"),
        ({"ultimate": True, "per_hand_rewards": True}, "it needs reward='points'"),
        ({"num_players": 55}, "it takes 1..54"),
        ({"num_players": 0}, "it takes 1..54"),
        ({"sips_per_miss": 0}, NUMBERS),
        ({"sips_per_miss": "1,3,0"}, NUMBERS),
        ({"sips_per_miss": [1] * 14}, NUMBERS),
        ({"sips_per_miss": []}, NUMBERS),
        ({"suits": 1, "num_players": 14}, "num_players is 14; the pack has 13 cards"),
    ],
    "missouri_city": [
        ({"suits": 2}, SMALL_PACK),
        ({"lowest": 7, "highest": 9}, SMALL_PACK),
        ({"lowest": 9, "highest": 5}, SMALL_PACK),
        ({"lowest": 10}, SMALL_PACK),
    ],
    "pitch": [
        ({"num_players": 5}, 'partners are 4: set teams="solo"'),
        ({**SOLO, "num_players": 3, "first_dealer": 3}, "0..2"),
        ({**SOLO, "num_players": 8}, "2..7"),
        ({"joker": "high"}, "below_jack"),
        ({"target": 0}, "1..16383"),
        ({"target": 16384}, "1..16383"),
        ({"num_players": 2}, "partners are 4"),
        ({"suits": 3, "joker": "low_trump"}, 'set joker="none"'),
        ({"suits": 1}, "4 players with 6 cards each need more than that"),
    ],
    "poker_duel": [
        ({"num_gamez": 2}, "Did you mean num_games"),
        ({"round_points": (0, 0, 0)}, "at least one round must be worth something"),
        ({"num_games": 22}, "132 points"),
        ({"first_dealer": 3}, "seat_0"),
        ({"exchanges_per_round": 12}, "0..11"),
        ({"episode": "sudden_death", "exchanges_per_round": 0}, "nobody would decide anything"),
    ],
    "twenty_one": [
        ({"bankroll": 10}, "bankroll 10 and initial_deposit 20"),
        ({"num_players": 2, "banker": 3}, r"seats 0\.\.1"),
        ({"chantal": False, "chantal_is_ace": True}, "needs chantal"),
        ({"force_back_pass_round": 1}, "2 and more"),
        ({"bet_fractions": [0.5, 1.0]}, "3 numbers"),
        *(
            ({"bet_fractions": [share, 0.5, 1.0]}, SHARES)
            for share in (0.0705, 0.0, 1.001, 70, 1e308, 10**400, float("nan"), float("inf"), True, "a half")
        ),
    ],
}


@pytest.mark.parametrize(
    ("game", "given", "says"), [(game, *case) for game, cases in REFUSED.items() for case in cases]
)
def test_options_that_cannot_be_are_refused_in_a_sentence(game: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(backalley.OptionError, match=says):
        backalley.game(game, **given)


SERIES = ("backhand", "buffalo_bayou", "missouri_city")
PLANNED: dict[str, Any] = {"turn_up": "taken_first", "seven_rule": "trick", "quartet": "any", "stock_top_open": False}
ONCE: dict[str, Any] = {"reuse": "once", "endgame": "classic", "plain_sequence": 0, "seven_is_declaration": False}
LATE: dict[str, Any] = {"mode": "match", "target": 300, "last_trick": "trick_24", "declare_at_trick_24": False}
ORDER: list[tuple[str, dict[str, Any], list[str], int]] = [
    *((name, {}, ["random", bot], 20_000) for name in SERIES for bot in backalley.game(name).bots),
    *((name, {}, [bot, "planner"], 300_000) for name in SERIES for bot in list(backalley.game(name).bots)[:-1]),
    ("baccarat", {"reshuffle": "shoe", "num_coups": "shoe"}, ["backer", "counter"], 20_000),
    ("bezique", {}, ["random", "greedy", "early", "planner", "strong"], 1_500),
    *(
        ("bezique", given, ["random", bot], 150)
        for given in (PLANNED, {**ONCE, "melds_face_up": False}, LATE, {"seven_rule": "both", "reuse": "free"})
        for bot in ("planner", "strong")
    ),
    ("killer_bridge", {}, ["random", "duck", "count", "weigh"], 150),
    ("pitch", {}, ["careful", "book", "sharp"], 2_000),
    ("pitch", {}, ["random", "careful"], 200),
    ("pitch", {"mode": "hand", "low": "dealt"}, ["random", "book"], 1_000),
    ("pitch", {"joker": "below_jack", "target": 11}, ["careful", "book"], 1_000),
    ("pitch", {"follow": "strict", "game_end": "bidder_must_win"}, ["careful", "book"], 2_000),
    ("pitch", {"teams": "solo"}, ["careful", "book", "sharp"], 2_000),
    ("poker_duel", {}, ["blotto", "greedy", "strong"], 3_000),
    ("poker_duel", {}, ["random", "strong"], 3_000),
    ("poker_duel", {}, ["misere", "random"], 3_000),
    ("poker_duel", {"misere": True}, ["random", "greedy", "misere"], 3_000),
    ("poker_duel", {"episode": "sudden_death"}, ["random", "strong"], 3_000),
    ("poker_duel", {"episode": "sudden_death", "misere": True}, ["greedy", "strong"], 3_000),
    ("twenty_one", {}, ["random", "cautious", "shark", "dp"], 5_000),
]
"""A game under some options, players from the weakest on, and the deals in which each beats the one before by three
standard errors. At tables of more seats each plays alone against others of the other kind, in every
seat. Pitch is played by the quick tests; each order compiles a match of its own, so the others wait for a release."""


@pytest.mark.skipif(not COMPILED, reason="thousands of games")
@pytest.mark.parametrize(
    ("game", "weaker", "stronger", "deals"),
    [
        pytest.param(
            backalley.game(name, **given), *pair, deals, id=f"{name}[{label(given)}]-{'-'.join(pair)}", marks=late
        )
        for name, given, players, deals in ORDER
        for late in [[] if name == "pitch" and "teams" not in given else [pytest.mark.slow, pytest.mark.release]]
        for pair in itertools.pairwise(players)
    ],
)
def test_the_better_player_wins(game: backalley.Game, weaker: str, stronger: str, deals: int) -> None:
    line_up = [backalley.agent("random" if one == "random" else f"bot:{one}", game) for one in (weaker, stronger)]
    difference = evaluate(game, line_up, deals=deals, seed=1).differences[0]
    assert difference.mean - 3 * difference.half_width / 1.96 > 0, str(difference)


FROZEN = [
    pytest.param(game, path, bot, id=f"{game.name}/{path.stem}", marks=slow)
    for game in GAMES
    for bot in game.bots
    for path in sorted((game.type.folder / "playthroughs").glob(f"*{bot}_seed-*.json"))
    for given in [load(path)["options"]]
    for slow in [[pytest.mark.slow, *marks(game, given)] if given else []]
]


@pytest.mark.parametrize(("game", "path", "bot"), FROZEN)
def test_bots_still_play_their_frozen_games(game: backalley.Game, path: Path, bot: str) -> None:
    kept = load(path)
    again = record(game.bind(kept["options"]), seed=int(path.stem.partition("_seed-")[2]), bot=bot)
    assert (again["decks"], again["moves"], again["returns"]) == (kept["decks"], kept["moves"], kept["returns"])
