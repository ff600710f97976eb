"""Pitch: partners bid how many of the points High, Low, Jack and Game they will win; the first card pitched makes
trump.

The partnership bidding version to 21; alone from three to seven players, and with a joker. The rules are README.md.
"""

from __future__ import annotations

from ..core.compile.interfaces import ActionFeatures, Kernels
from ..core.game.declaration import Preset
from ..core.game.game import GameType
from ..core.rules import trick_hand
from ..core.rules.symmetry import Suits
from . import VERSION, observation, rules, text
from .bot import BOTS
from .events import EVENTS
from .features import FEATURES, action_features
from .observation import Observation
from .state import NAME, NUM_ACTIONS, NUM_CARDS, PLAY, Options, State, check, pack_size, side_of

_CUT_DOWN = {"teams": "solo", "num_players": 2, "mode": "hand", "first_dealer": 0}

GAME = GameType(
    module=__name__,
    name="pitch",
    version=VERSION,
    title="Pitch",
    kernels=Kernels(rules.start, rules.deal, rules.legal, rules.step, observation.observe, observation.determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    action_str=text.action_str,
    table=text.table,
    piles=text.piles,
    entries={
        "trump": [("clubs", "diamonds", "hearts", "spades", "not yet known")],
        "phase": [("bidding", "playing", "naming trump")],
        "bids": [("none yet", "pass", "2", "3", "4", "5")],
    },
    events=EVENTS,
    private=("hand",),
    phases={"bid": range(PLAY), "play": range(PLAY, NUM_ACTIONS)},
    deck_size=pack_size,
    cards_needed=lambda options: options.hand_size * options.num_players,
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: True,
    bots=BOTS,
    sides=lambda options: tuple(side_of(options, seat) for seat in range(options.num_players)),
    num_start_outcomes=trick_hand.num_start_outcomes,
    presets={
        "letter": Preset(
            {"all_pass": "dealer_exactly_2", "must_trump_when_void": True, "game_end": "bidder_must_win"},
            "the text by its words: a dealer who is left to bid bids two, no more (§1.2); only who can neither follow "
            "nor trump plays what they like (§1.3); at the target it is enough to have won the bid (§1.6)",
        ),
        "setback": Preset(
            {
                "target": 11,
                "all_pass": "redeal",
                "dealer_can_take": False,
                "smudge_takeable": True,
                "game_end": "first_past",
            },
            "Setback as the public program of the Deep CFR plays it, but for three rules (§2): to eleven, nobody is "
            "made to bid, and the dealer may take a four, but nothing less",
        ),
        "tiny": Preset(
            {**_CUT_DOWN, "hand_size": 1, "suits": 2},
            "cut down to be solved: two players with a card each, of two suits, bid (§2)",
        ),
        "small": Preset({**_CUT_DOWN, "hand_size": 2, "suits": 2}, "the same with two cards each (§2)"),
    },
    check=check,
    card_name=text.card_name,
    card_number=text.card_number,
    info=rules.info,
    leaf_value=rules.leaf_value,
    action_features=ActionFeatures(action_features, FEATURES),
    suits=Suits(rules.named_suits, actions=((PLAY, NUM_CARDS), (NAME, 4))),
    speed_floor=9_500_000,
)
