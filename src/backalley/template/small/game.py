"""Template: two seats get a card each and stay or fold; the higher card wins."""

from backalley.envs.core.compile.interfaces import Kernels
from backalley.envs.core.game.game import GameType

from . import VERSION
from .bot import BOTS
from .events import EVENTS
from .observation import Observation, determinize, observe
from .rules import deal, legal, start, step
from .state import PACK, Options, State
from .text import action_str, piles, table

GAME = GameType(
    module=__name__,
    name="template",
    version=VERSION,
    title="Template",
    kernels=Kernels(start, deal, legal, step, observe, determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=2,
    action_str=action_str,
    table=table,
    piles=piles,
    events=EVENTS,
    private=("card",),
    deck_size=lambda options: PACK,
    cards_needed=lambda options: 2,
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: True,
    bots=BOTS,
)
