"""Baccarat: bets on which of two hands, the Player's and the Banker's, comes closer to nine; all but one choice of
drawing is by rule.

At a betting table the bettor who handles the Player hand may choose on a five; in chemin de fer two seats play the
hands against each other. The rules are README.md.
"""

from __future__ import annotations

from ..core.compile.interfaces import Kernels
from ..core.game.declaration import Preset
from ..core.game.game import GameType
from . import VERSION, bets, coup, events, observation, rules, text
from .bot import BOTS
from .observation import Observation
from .state import NUM_ACTIONS, Options, State, check, pack_size, shoe_size

_HANDS, _VALUES = ("Player hand", "Banker hand"), [str(value) for value in range(10)]

GAME = GameType(
    module=__name__,
    name="baccarat",
    version=VERSION,
    title="Baccarat",
    kernels=Kernels(rules.start, rules.deal, rules.legal, rules.step, observation.observe, observation.determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    action_str=text.action_str,
    table=text.table,
    action_told=text.action_told,
    piles=text.piles,
    entries={
        "phase": [("betting", "Player hand", "Banker hand", "cards turned up")],
        "hand": [_HANDS, ("first", "second"), _VALUES],
        "total": [_HANDS, _VALUES],
        "third": [(*_VALUES, "stood")],
        "remaining": [_VALUES],
        "bet": [("none", "PLAYER", "BANK", "TIE")],
    },
    events=events.EVENTS,
    private=("hand", "total", "remaining", "bet", "stake"),
    stock=events.stock,
    deck_size=pack_size,
    cards_needed=shoe_size,
    with_replacement=lambda options: options.decks == 0,
    reward_range=bets.reward_range,
    zero_sum=bets.zero_sum,
    bots=BOTS,
    # *Measured* over 4,209 decisions of chemin de fer: what search:96 gains by one, for 1, 2 and 3, in thousandths of a
    # return: -2.6 ± 6.5, -2.6 ± 4.9, +0.5 ± 0.7. Its bots play best, or nearly so.
    z_threshold=3.0,
    presets={
        "letter": Preset(
            {"decks": "home", "banker_rule": "total"},
            "the text by its words: one pack, its equipment (§1.1); what the Banker's table says the Player has is the "
            "Player hand's total (§1.3, §6.1)",
        ),
        "tiny": Preset(
            {"mode": "chemin", "decks": "home", "suits": 1},
            "cut down to be solved: a coup of chemin de fer with the thirteen cards of one suit (§2.2)",
        ),
    },
    check=check,
    info=rules.info,
    card_name=text.card_name,
    card_number=text.card_number,
    card_kind=coup.value,
    speed_floor=9_800_000,
)
