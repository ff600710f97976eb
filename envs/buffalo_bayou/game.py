"""Buffalo Bayou Backhand: Backhand where a hand that came off must also beat the dealer total of a show card and the
card last drawn.

The rules are README.md, §2, on top of Backhand's; what the series shares is `backhand_series`.
"""

from __future__ import annotations

from ..backhand_series import enumeration
from ..backhand_series.state import NUM_ACTIONS, PACK, SHOW_CARDS
from ..backhand_series.text import ENTRIES
from ..core.compile.interfaces import Kernels
from ..core.game.declaration import Preset
from ..core.game.game import GameType
from . import VERSION, observation, rules, text
from .bot import BOTS
from .events import EVENTS
from .observation import Observation
from .state import Options, State

GAME = GameType(
    module=__name__,
    name="buffalo_bayou",
    version=VERSION,
    title="Buffalo Bayou Backhand",
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
    deck_size=lambda options: PACK,
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: False,
    presets={
        "letter": Preset(
            {"dealer_total_cap": False},
            "the text by its words: aces of the dealer total count to the dealer's advantage, two of them 22 (§2.3)",
        ),
    },
    bots=BOTS,
    # *Measured* over 9,859 decisions: what search:96 gains by one, for 1, 2 and 3, in thousandths of a return:
    # -0.6 ± 2.4, -0.8 ± 1.9, +0.3 ± 0.6. `planner` plays best.
    z_threshold=3.0,
    seat_names=text.SEAT_NAMES,
    card_kind=enumeration.kind,
    enumeration=enumeration.WITH_DEALER,
    enumeration_split=SHOW_CARDS,
    speed_floor=6_700_000,
)
