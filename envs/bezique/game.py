"""Bezique: two players draw from a stock, declare what they collect after each trick they win, and fight the last eight
tricks strictly.

`state.py` names everything at the table, `rules.py` plays by README.md, whose paragraphs are its § marks, with
`declarations.py` for what is declared; `bots/endgame.py` solves the last eight tricks for the bots.
"""

from __future__ import annotations

from ..core.compile.interfaces import ActionFeatures, Kernels
from ..core.game.declaration import Preset
from ..core.game.game import GameType
from ..core.rules.symmetry import Suits
from . import VERSION, rules, text
from .bot import BOTS
from .bots.features import FEATURES, action_features
from .declarations import named_suits
from .events import EVENTS, stock
from .observation import Observation, determinize, observe
from .pack import check, pack, pack_size
from .state import DECLARE_SEVEN, MARRIAGE, NUM_ACTIONS, NUM_CARDS, SEQUENCE, Options, State

GAME = GameType(
    module=__name__,
    name="bezique",
    version=VERSION,
    title="Bezique",
    kernels=Kernels(rules.start, rules.deal, rules.legal, rules.step, observe, determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    action_str=text.action_str,
    table=text.table,
    action_told=text.action_told,
    piles=text.piles,
    events=EVENTS,
    private=("hand", "scored"),
    phases={"declare": range(DECLARE_SEVEN, NUM_ACTIONS), "play": range(DECLARE_SEVEN)},
    stock=stock,
    deck_size=pack_size,
    pack=pack,
    check=check,
    reward_range=rules.reward_range,
    zero_sum=lambda options: True,
    bots=BOTS,
    num_start_outcomes=rules.num_start_outcomes,
    presets={
        "letter": Preset(
            {"turn_up": "taken_first", "seven_rule": "both", "reuse": "free", "melds_face_up": False},
            "the text by its words: the turn-up is the top of the stock, for the winner of trick 1 (§1.3); a seven of "
            "trumps is declared from the hand and exchanged from a trick, ten points each (§1.5); no card is barred "
            "from further groups (§1.6); declared cards are laid face down (§1.5)",
        ),
        "tiny": Preset(
            {
                "first_dealer": "seat_0",
                "stock_top_open": False,
                "cards_dealt": 3,
                "lowest": "jack",
                "highest": "ten",
                "suits": 2,
                "copies": 1,
            },
            "cut down to be solved: three cards each of eight, jacks to tens of diamonds and spades; a closed stock "
            "(§2)",
        ),
    },
    card_name=text.card_name,
    card_number=text.card_number,
    leaf_value=rules.leaf_value,
    action_features=ActionFeatures(action_features, FEATURES),
    suits=Suits(named_suits, actions=((0, NUM_CARDS), (MARRIAGE, 4), (SEQUENCE, 4))),
    speed_floor=7_000_000,
)
