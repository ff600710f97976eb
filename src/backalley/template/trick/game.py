"""Template: everybody plays a card to each trick and has to follow suit; who wins more tricks than others gains."""

from backalley.envs.core.compile.interfaces import Kernels
from backalley.envs.core.game.game import GameType
from backalley.envs.core.rules import trick_hand

from . import VERSION
from .bot import BOTS
from .events import EVENTS
from .observation import Observation, determinize, observe
from .rules import deal, legal, start, step
from .state import PACK_SIZE, Options, State, check
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
    num_actions=PACK_SIZE,
    action_str=action_str,
    table=table,
    piles=piles,
    events=EVENTS,
    private=("hand",),
    deck_size=lambda options: PACK_SIZE,
    cards_needed=lambda options: options.num_players * options.hand_size + 1,
    num_start_outcomes=trick_hand.num_start_outcomes,
    reward_range=lambda options: (-options.hand_size / options.num_players, float(options.hand_size)),
    zero_sum=lambda options: True,
    bots=BOTS,
    check=check,
)
