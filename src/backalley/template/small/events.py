"""What the seats of Template learn besides the actions that they see."""

from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.rules.events import OWN, Events, Kind, Log, tell

from .state import Options, State

DEALT = OWN  # the first of the game's own kinds


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """Each seat sees its own card. §1.1"""
    for seat in range(2):
        tell(log, seat, DEALT, seat, int(state.card[seat]))


EVENTS = Events(
    kinds=(Kind("dealt", "The card of the reader, §1.1.", "card"),),
    deal=tell_deal,
    most=lambda options: 2,  # two cards; an action is one event, and no deal follows
    length=lambda options: 3,  # a seat's own card, two actions
)
