"""What the seats of Template learn besides the actions that they see."""

from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.rules import trick_events
from backalley.envs.core.rules.events import EVERYBODY, NOBODY, Events, Kind, Log, tell

from .state import Options, State

TURNED = trick_events.NEXT


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """Everybody sees who deals and the card turned up, each seat its own hand. §1.1"""
    trick_events.tell_hands(state, log)
    tell(log, EVERYBODY, TURNED, NOBODY, int(state.turned))


EVENTS = Events(
    kinds=(*trick_events.kinds("§1.1"), Kind("turned up", "The card turned up; its suit is trump, §1.1.", "card")),
    deal=tell_deal,
    most=lambda options: 2 + options.num_players * options.hand_size,
    length=lambda options: 2 + (1 + options.num_players) * options.hand_size,
)
