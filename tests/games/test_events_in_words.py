"""What each seat is told of a given deal and a few actions, in words: games whose seats are told the most."""

from __future__ import annotations

from typing import Any

import pytest

import backalley

POKER_DUEL = (
    "poker_duel",
    {"episode": "sudden_death", "first_dealer": "seat_1", "exchanges_per_round": 1},
    ["AC 2D AD 3D AH 4D AS 5D KC 6D 2C"],
    ["discard KC", "stand"],
    [
        """seat +1: deals
you: dealt KC AC AD AH AS
you: discard KC
you: draws 2C
seat +1: stand
seat +1: shows 2D 3D 4D 5D 6D""",
        """you: deals
you: dealt 2D 3D 4D 5D 6D
seat +1: exchanges a card
you: stand
seat +1: shows 2C AC AD AH AS""",
    ],
)
CHEMIN = (
    "baccarat",
    {"mode": "chemin", "decks": 1, "num_coups": 2},
    ["9C 6C KC KD 2C 3C", "5C 6C KC KD 2C 3C"],
    ["draw", "stand"],
    [
        """table: Player has 9 0
table: Banker has 6 0
table: winner Player
table: Player has 5 0
you: draw
table: Player draws 2
table: Banker has 6 0
table: winner Player""",
        """table: Player has 9 0
table: Banker has 6 0
table: winner Player
table: Banker has 6 0
table: Player draws 2
you: stand
table: Player has 5 0
table: winner Player""",
    ],
)
BETS = (
    "baccarat",
    {"num_bettors": 2, "decks": 1},
    ["5C 6C KC KD 2C 3C"],
    ["player 1", "no bet", "stand"],
    [
        """you: player 1
seat +1: decides on a bet
seat +1: had bet nothing
table: Player has 5 0
table: Banker has 6 0
you: stand
table: winner Banker""",
        """seat +1: decides on a bet
you: no bet
seat +1: had bet PLAYER level 1
table: Player has 5 0
table: Banker has 6 0
seat +1: stand
table: winner Banker""",
    ],
)
TWENTY_ONE = (
    "twenty_one",
    {"num_players": 2, "bankroll": 20, "max_rounds": 1},
    ["TC 9D AC 8C 9H 7S"],
    ["deal", "bet min", "hit", "stand"],
    [
        """you: deal
you: draws 9D
seat +1: bet min
seat +1: stands
you: hit
you: draws 8C
you: shows 8C
you: stand
seat +1: wins
you: shows 9D""",
        """seat +1: deal
you: draws TC
you: bet min
you: stands
you: draws AC
seat +1: hit
seat +1: shows 8C
seat +1: stands
you: wins
seat +1: shows 9D""",
    ],
)
CASES = {"poker_duel": POKER_DUEL, "chemin": CHEMIN, "bets": BETS, "twenty_one": TWENTY_ONE}


@pytest.mark.parametrize(("name", "options", "decks", "actions", "told"), CASES.values(), ids=list(CASES))
def test_each_seat_is_told(
    name: str, options: dict[str, Any], decks: list[str], actions: list[str], told: list[str]
) -> None:
    game = backalley.game(name, **options)
    numbers = {game.action_str(action): action for action in range(game.num_actions)}
    env = game.make(events=True)
    env.reset(seed=1, options={"decks": [deck.split() for deck in decks]})
    for action in actions:
        env.step(numbers[action])
    assert [backalley.events_str(game, env.events(agent)) for agent in env.possible_agents] == told


@pytest.mark.uncompiled
@pytest.mark.parametrize("skip_forced", [False, True])
def test_a_split_tells_the_other_player_nothing_of_how_it_was_made(skip_forced: bool) -> None:
    """Not even by the number of cards that were placed one by one, which differs where forced ones take no step."""
    game, told = backalley.game("poker_duel", skip_forced=skip_forced), set()
    for prefer in (min, max):
        env = game.make(events=True)
        env.reset(seed=3)
        first, mask = env.agent_selection, env.engine.batch.mask[0]
        while env.agent_selection == first:
            env.step(int(prefer(mask.nonzero()[0])))
        told.add(backalley.events_str(game, env.events()))
    assert len(told) == 1
    assert (not skip_forced) == ("assigns a card" in told.pop())
