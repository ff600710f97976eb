"""`Declaration`: the fields of a game's declaration, each with its meaning; `GameType` in `game.py` is what folders
write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from backalley.console.errors import InvalidType

from ..compile.interfaces import ActionFeatures, Bot, Enumeration, Kernels, Plans, check_state
from ..rules import cards, record
from ..rules.events import Events
from ..rules.table import Table

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with a default, which Python's own has from 3.13 on

    from ..rules.symmetry import Suits

    OptionsT = TypeVar("OptionsT", covariant=True, default=Any)
else:
    from typing import TypeVar

    OptionsT = TypeVar("OptionsT", covariant=True)


def _one_start_outcome(options: Any) -> int:
    return 1


def _never(options: Any) -> bool:
    return False


def _no_check(options: Any) -> None:
    return None


class Preset(NamedTuple):
    """A named set of options."""

    options: Mapping[str, Any]
    doc: str


class PlanModel(NamedTuple):
    """How a game's plans are drawn at random, and how a response to an opponent's is reckoned from what it shows.

    `key` and `result` are kernels, the others are not. P and the shape of counts are the game's own.
    """

    key: Callable[..., Any]
    """`key(observation) -> uint64`: a number that stays the same through all steps of a plan and follows from the
    seat's own cards alone; 0 where the decision is not part of one."""
    classes: Callable[[Any], Any]
    """`classes(options)`: the classes whose values decide plans, int64 [P]. `Plans.act` takes the values of these
    alone, in this order, at decisions that are part of a plan."""
    width: int
    """Numbers in a result."""
    result: Callable[..., None]
    """`result(options, observation, part, out)`: write what a seat has seen of a part of its own and of the opponent's
    once `Plans.look` gives its outcome: out int64 [width]."""
    counts: Callable[[Any, Any], Any]
    """`counts(options, results)`: results int64 [n, width], counted: those of the seat's own parts and those of the
    opponent's, float64 [2, ...]."""
    values: Callable[[Any, Any, Any], Any]
    """`values(options, counts, base)`: the values of all classes of the best response to an opponent whose parts are
    distributed like these counts [...], float32 [classes]; those of `base` where they say nothing."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Declaration(Generic[OptionsT]):
    """A game, as its folder's `game.py` declares it. Functions of `options` take the game's Options tuple.

    `reward_range` bounds a seat's *return* (the sum of its rewards over one episode).
    """

    name: str
    version: int
    title: str
    module: str = ""
    """The module that declares it, `__name__` there; a game is pickled by this import path."""

    # Rules: what is played.
    Options: type[OptionsT]
    presets: Mapping[str, Preset] = field(default_factory=dict)
    """Named sets of options, given as `preset="name"` wherever options are given; further options override it. Every
    game of this package has one named `letter`: what its text says, without our interpretation."""
    check: Callable[[Any], None] = _no_check
    """Raises OptionError where options contradict each other."""
    State: type
    kernels: Kernels
    num_actions: int
    num_start_outcomes: Callable[[Any], int] = _one_start_outcome
    """The number of equally likely start outcomes, decided before the first deal."""
    deck_size: Callable[[Any], int]
    """How many cards the pack has; they are numbered from 0."""
    pack: Callable[[Any], Sequence[int]] | None = None
    """`pack(options)`: the cards of a pack that lacks some, by their numbers, in order. Packs are shuffled as places in
    it, from 0, and `deal` looks the cards up; names, kinds and piles are of cards. None: place and card are one."""
    cards_needed: Callable[[Any], int] | None = None
    """How many cards from the top of the pack a deal can use; the engine shuffles only these. None: all."""
    with_replacement: Callable[[Any], bool] = _never
    """Whether each of those cards is drawn from a whole pack of its own: the deck is then that long, and can repeat a
    card."""
    card_name: Callable[[int], str] = cards.card_name
    card_number: Callable[[str], int] = cards.card_number
    suits: Suits | None = None
    """Which suits the rules treat alike, and which actions are cards or suits; None: no suit permutation is known to
    leave the game unchanged."""
    reward_range: Callable[[Any], tuple[float, float]]
    zero_sum: Callable[[Any], bool]
    sides: Callable[[Any], Sequence[int]] | None = None
    """`sides(options)`: the number of each seat's side; partners have the same. None: every seat is its own side."""
    max_decisions: Callable[[Any], int] | None = None
    """Decisions after which an episode is truncated; None where the rules end it."""

    # View: what a seat sees, and what people read.
    Observation: type
    action_str: Callable[[Any, int], str]
    """`action_str(options, action)`: the action's name; no two actions share one."""
    action_told: Callable[[Any, int], str] | None = None
    """`action_told(options, action)`: the words that other seats see for an action whose name says more than they may
    know. None: they see its name."""
    table: Callable[[Any, Any, int | None], Table]
    """`table(options, state, seat)`: the table as `seat` may see it; None shows everything. Text and pictures are drawn
    from it."""
    piles: Callable[[Any, Any], Mapping[str, Sequence[int]]]
    """`piles(options, state)`: the place of every card; together they are the pack, each card once. With
    `with_replacement` they are the cards drawn, `cards_needed` of them."""
    events: Events | None = None
    """What the seats learn in the course of an episode besides the actions that they see. None: no history is kept."""
    private: tuple[str, ...] = ()
    """The fields of Observation that not every seat may know of this seat, such as its hand. All others show what
    everybody sees, turned so that 0 is the seat itself."""
    stock: Callable[..., int] | None = None
    """A kernel `stock(options, state, out) -> n`: write the cards that are already in a hidden order and yet to be
    drawn in this deal, the next first, and return their number. None: a deal draws all its cards at once."""
    seat_names: tuple[str, ...] = ()
    info: Callable[[Any, Any, int], dict[str, Any]] | None = None
    """`info(options, state, seat)`: additional entries of a seat's `info` in the environments when its episode has
    ended."""
    open_info: Callable[[Any, Any], dict[str, Any]] | None = None
    """`open_info(options, state)`: additional entries of everybody's `info` in the environments at any time. The AEC
    environment calls it when an episode begins, after each deal and at the end, so nothing in it may change between two
    deals; batches call it only at the end."""

    entries: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    """Names for the entries of Observation's fields, as strategy cards print them: by field, a list for each of its
    last axes. An entry without a name is called by its number from 1; axes over suits or cards (`suits`) have names."""
    phases: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Actions by the name of their phase, each in one: an agent may be named for each (`bid=bot,play=random`). A
    decision belongs to the first phase that has a legal action. Empty: the game has one phase."""

    # Search: bots, and what searches need.
    bots: Sequence[Bot] = ()
    """The rule-based players, weakest first; the last is `bot` without a name."""
    leaf_value: Callable[..., float] | None = None
    """A kernel `leaf_value(options, state, seat)`, for episodes of several deals: where a new pack is needed, an
    estimate of the rewards that `seat` is still to get, from the present points; NaN where the shuffle comes in the
    middle of a hand. A rollout stops there instead of playing the episode out. None: it plays to the end."""
    imagine: Callable[..., None] | None = None
    """A kernel `imagine(options, state, seat, key)`, for searches, after `determinize`: where others have moved cards
    that `seat` cannot see, redo these moves as a sensible player would. It may use only what the seat knows: its state
    is redrawn already. None: uniform determinizations are likely enough."""
    z_threshold: float = 1.0
    """The z-threshold: standard errors by which an action must lead the best bot's own before a search prefers it;
    whole plans have `Plans.z_threshold`."""

    # Exact: what solvers need.
    enumeration: Enumeration | None = None
    """For exact solution, where everything but the order of the stub is public."""
    enumeration_split: int | None = 0
    """How many leading cards of the deal the exact solver fixes, to solve the rest as one problem with its own memory.
    None: there are too many deals, and it solves only from a position."""
    card_kind: Callable[[int], int] | None = None
    """A kernel `card_kind(card)`: a number that is equal for cards that rules and observations treat alike; exact
    computations then deal each kind once. None: every card is its own kind."""

    # Learning.
    action_features: ActionFeatures | None = None
    """What a learned policy may rate each action by, in place of reading the observation; None: nothing."""
    plans: Plans | None = None
    """How the game plays macro-actions, by values that can be learned; None: decisions are made one by one."""
    plan_model: PlanModel | None = None
    """How its plans are mixed and answered, for `fictitious_play` and the attacker `model`; None: not at all."""

    # Speed.
    speed_floor: int = 3_000_000
    """Decisions a second of random play that one core reaches with 4,096 tables; `benchmarks/speed/speed.py` marks
    games below it."""

    def __post_init__(self) -> None:
        if not self.module:
            raise InvalidType(f"{self.name}: its declaration names no module; write GameType(module=__name__, ...).")
        check_state(self.name, {item.name: (item.code, item.shape) for item in record.fields(self.State)})
