"""What each seat is shown of a given deal and a few actions, in words."""

from __future__ import annotations

from typing import Any

import pytest

import backalley
from tests.common.cases import marks

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
KILLER_BRIDGE = (
    "killer_bridge",
    {"preset": "small"},
    ["AC 5C KC TC 7C"],
    ["bid 1", "board", "play KC", "play TC"],
    [
        """you: deals
you: dealt 5C TC
you: turns up 7C
seat +1: bid 1
you: board
seat +1: play KC
you: play TC""",
        """seat +1: deals
you: dealt KC AC
seat +1: turns up 7C
you: bid 1
seat +1: board
you: play KC
seat +1: play TC""",
    ],
)
PITCH = (
    "pitch",
    {"preset": "small"},
    ["AC 5D KC TD"],
    ["bid 2", "pass", "play KC", "play TD"],
    [
        """you: deals
you: dealt 5D TD
seat +1: bid 2
you: pass
seat +1: play KC
you: play TD""",
        """seat +1: deals
you: dealt KC AC
you: bid 2
seat +1: pass
you: play KC
seat +1: play TD""",
    ],
)
BEZIQUE = (
    "bezique",
    {"first_dealer": 0},
    ["QSa KSa JDa 7Da 8Da 9Da TSa 9Ca TDa 7Db 9Cb 8Ca 8Cb 8Db 9Db TDb 7Ha QSb ACb ADa AHa"],
    ["play 9Ca", "play 7Da", "declare marriage S", "play QSa", "play 8Da", "declare bezique"],
    [
        """you: deals
you: dealt 7Da 7Db 8Da 8Db 9Da 9Db TDa TDb
you: turns up 7H
table: stock shows QS
seat +1: play 9C
you: play 7Da
seat +1: declare marriage S
seat +1: lays down QS KS
you: draws ACb
table: stock shows AD
seat +1: play QS
seat +1: plays from the table QS
you: play 8Da
seat +1: declare bezique
seat +1: lays down JD QS
you: draws AHa
table: stock shows 7C""",
        """seat +1: deals
you: dealt 8Ca 8Cb 9Ca 9Cb JDa QSa KSa TSa
seat +1: turns up 7H
table: stock shows QS
you: play 9Ca
seat +1: play 7D
you: declare marriage S
you: draws QSb
table: stock shows AD
you: play QSa
seat +1: play 8D
you: declare bezique
you: draws ADa
table: stock shows 7C""",
    ],
)
BACKHAND = (
    "backhand",
    {},
    ["TS AS 9S 5H AH 7C QD"],
    ["push", "hit"],
    [
        """you: dealt 10 9
you: aces replaced 1
you: push
you: dealt 5 7
you: aces replaced 1
you: hit
you: draws 10""",
    ],
)
BUFFALO_BAYOU = (
    "buffalo_bayou",
    {},
    ["2S 6H KD 8S 4C 9D"],
    ["backhand"],
    [
        """table: show card 10 6 2
you: dealt 8 4
you: backhand
you: draws 9""",
    ],
)
MISSOURI_CITY = (
    "missouri_city",
    {"dealt_first": "green"},
    ["2S 6H KD AS 4C 5D 6C AC 2H 9D 3D"],
    ["hit", "hit"],
    [
        """table: show card 10 6 2
you: dealt 5 4
seat +1: dealt 6 2
table: aces replaced 2
seat +1: replaces an ace
you: hit
you: draws 9
seat +1: hit
seat +1: draws 3""",
        """table: show card 10 6 2
seat +1: dealt 5 4
you: dealt 6 2
table: aces replaced 2
you: replaces an ace
seat +1: hit
seat +1: draws 9
you: hit
you: draws 3""",
    ],
)
CASES = [POKER_DUEL, CHEMIN, BETS, TWENTY_ONE, KILLER_BRIDGE, PITCH, BEZIQUE, BACKHAND, BUFFALO_BAYOU, MISSOURI_CITY]
"""A seat is shown its own cards, with their copies, and of others' what it then observes: in the Backhand series
values, and not which of those dealt were aces; in Bezique what a declaration laid down, and what is played from
there."""


@pytest.mark.parametrize(
    ("name", "options", "decks", "actions", "texts"),
    [pytest.param(*case, marks=marks(backalley.game(case[0]), case[1])) for case in CASES],
)
def test_each_seat_is_shown(
    name: str, options: dict[str, Any], decks: list[str], actions: list[str], texts: list[str]
) -> None:
    game = backalley.game(name, **options)
    numbers = {game.action_str(action): action for action in range(game.num_actions)}
    env = game.make(events=True)
    env.reset(seed=1, options={"decks": [deck.split() for deck in decks]})
    for action in actions:
        env.step(numbers[action])
    assert [backalley.events_str(game, env.events(agent)) for agent in env.possible_agents] == texts


@pytest.mark.uncompiled
@pytest.mark.parametrize("skip_forced", [False, True])
def test_a_split_tells_the_other_player_nothing_of_how_it_was_made(skip_forced: bool) -> None:
    """Not even by the number of cards that were placed one by one, which differs where forced ones take no step."""
    game, texts = backalley.game("poker_duel", skip_forced=skip_forced), set()
    for prefer in (min, max):
        env = game.make(events=True)
        env.reset(seed=3)
        first, mask = env.agent_selection, env.engine.batch.mask[0]
        while env.agent_selection == first:
            env.step(int(prefer(mask.nonzero()[0])))
        texts.add(backalley.events_str(game, env.events()))
    assert len(texts) == 1
    assert (not skip_forced) == ("assigns a card" in texts.pop())
