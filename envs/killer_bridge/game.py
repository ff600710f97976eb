"""Killer Back Alley Bridge Substitute: 1 to 54 players bid exactly how many tricks they will take, hand by hand of
every size.

Two jokers are always trumps, the dealer may not make the bids come out even, and the big joker, led, calls for
everybody's highest trump. The rules are README.md.
"""

from __future__ import annotations

from ..core.compile.interfaces import ActionFeatures, Kernels
from ..core.game.declaration import Preset
from ..core.game.game import GameType
from ..core.rules import trick_hand
from ..core.rules.symmetry import Suits
from . import VERSION, observation, rules, text
from .bot import BOTS
from .bots.features import FEATURES, action_features
from .events import EVENTS
from .observation import Observation, named_suits
from .schedule import cards_needed
from .scoring import reward_range
from .state import NUM_ACTIONS, PACK_SIZE, PLAY, Options, State, check, pack_size, pays_points

_CUT_DOWN = {"num_players": 2, "length": "single", "suits": 1, "first_dealer": 0}

GAME = GameType(
    module=__name__,
    name="killer_bridge",
    version=VERSION,
    title="Killer Back Alley Bridge Substitute",
    kernels=Kernels(rules.start, rules.deal, rules.legal, rules.step, observation.observe, observation.determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    action_str=text.action_str,
    table=text.table,
    piles=text.piles,
    entries={"trump": [("clubs", "diamonds", "hearts", "spades", "none")]},
    events=EVENTS,
    private=("hand",),
    phases={"bid": range(PLAY), "play": range(PLAY, NUM_ACTIONS)},
    deck_size=pack_size,
    cards_needed=cards_needed,
    reward_range=reward_range,
    zero_sum=lambda options: options.num_players > 1 or not pays_points(options),
    bots=BOTS,
    num_start_outcomes=trick_hand.num_start_outcomes,
    presets={
        "letter": Preset(
            {"history": "last_trick", "reward": "win"},
            "the text by its words: nobody looks at tricks before the last finished one (§2); the highest total wins, "
            "by however little (§1.5, §3)",
        ),
        "recommended": Preset({"num_players": 37}, "the number of players that the source recommends"),
        "cutthroat": Preset({"scoring": "squared"}, "what the source believes Cutthroat to be: the game as it is here"),
        "real": Preset({"scoring": "linear"}, "what it believes the game to be without Cutthroat: no squaring"),
        "half_game": Preset({"length": "down"}, "the source's shorter game, from the largest hands down to one card"),
        "tiny": Preset(
            {**_CUT_DOWN, "hand_size": 1}, "cut down to be solved: two players with a card each, of one suit (§1.5)"
        ),
        "small": Preset({**_CUT_DOWN, "hand_size": 2}, "the same with two cards each (§1.5)"),
    },
    check=check,
    info=rules.info,
    open_info=rules.open_info,
    leaf_value=rules.leaf_value,
    action_features=ActionFeatures(action_features, FEATURES),
    suits=Suits(named_suits, actions=((PLAY, PACK_SIZE),)),
    speed_floor=7_800_000,
)
