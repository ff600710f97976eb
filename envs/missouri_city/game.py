"""Missouri City Backhand: two Buffalo Bayou hands on one deck and one dealer hand; of two hands won, the better method
or lower total wins.

The rules are README.md, §3, on top of Backhand's and Buffalo Bayou's; what the series shares is `backhand_series`.
"""

from __future__ import annotations

from ..backhand_series import enumeration
from ..backhand_series.state import NUM_ACTIONS
from ..backhand_series.text import ENTRIES
from ..core.compile.interfaces import Kernels
from ..core.game.declaration import Preset
from ..core.game.game import GameType
from . import VERSION, observation, rules, text
from .bot import BOTS
from .events import EVENTS
from .observation import Observation
from .pack import ENUMERATION, check, pack, pack_size
from .state import DealtFirst, Options, State

_CUT_DOWN = {"dealt_first": "green", "stalemate": "draw"}

GAME = GameType(
    module=__name__,
    name="missouri_city",
    version=VERSION,
    title="Missouri City Backhand",
    kernels=Kernels(rules.start, rules.deal, rules.legal, rules.step, observation.observe, observation.determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    action_str=text.action_str,
    table=text.table,
    piles=text.piles,
    entries=ENTRIES,
    events=EVENTS,
    stock=enumeration.stock,
    deck_size=pack_size,
    pack=pack,
    check=check,
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: True,
    presets={
        "letter": Preset(
            {"dealer_total_cap": False},
            "the text by its words: aces of the dealer total count to the dealer's advantage, so that two make 22",
        ),
        "tiny": Preset(
            {**_CUT_DOWN, "lowest": 5, "highest": 7},
            "cut down to be solved: one deal with the twelve fives, sixes and sevens (§3.7)",
        ),
        "small": Preset(
            {**_CUT_DOWN, "lowest": 5, "highest": 8, "suits": 3},
            "the same with fives to eights of three suits (§3.7)",
        ),
    },
    bots=BOTS,
    # *Measured* over 9,859 decisions: what search:96 gains by one, for 1, 2 and 3, in thousandths of a return:
    # -1.9 ± 2.1, -1.5 ± 1.6, -0.3 ± 0.5. `planner` counts the stub to the end.
    z_threshold=3.0,
    num_start_outcomes=lambda options: 2 if options.dealt_first == DealtFirst.RANDOM else 1,
    seat_names=text.SEAT_NAMES,
    leaf_value=rules.leaf_value,
    card_kind=enumeration.kind,
    enumeration=ENUMERATION,
    enumeration_split=None,
    speed_floor=7_500_000,
)
