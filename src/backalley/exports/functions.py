"""The C functions of a game: its rules on one state, decisions of many tables, and its players."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
from numba import carray

from backalley.agents.policies.policy_kinds import Player
from backalley.envs.core.api.compiled_play import Batch, Deck, kernel_names, shuffle_deck, table_names
from backalley.envs.core.game.game import Game

from .memory import on_stack, pointer_to
from .players import players_of
from .translate import Argument, Function

_INT, _WORD, _BYTE, _FLAG, _SHORT = numba.int64, numba.uint64, numba.int8, numba.uint8, numba.int32
BATCH = {
    "state": ("state", "the states [B]"),
    "stream": ("uint64", "each table's own random stream [B]; any number begins one"),
    "observation": ("observation", "what the seat to act may know [B]; zeros where the game is over"),
    "mask": ("int8", "1 for each legal action of that seat [B][actions]"),
    "seat": ("int8", "the seat to act, or -2 where the game is over [B]"),
    "reward": ("float", "what each seat gained by the latest action [B][seats]"),
    "terminated": ("uint8", "whether the latest action ended the game [B]"),
    "truncated": ("uint8", "whether it reached the limit of decisions [B]"),
    "decisions": ("int32", "decisions of the present episode [B]"),
    "own_decisions": ("int32", "how many of them each seat made [B][seats]"),
}
"""The pointers of a `batch`, in order: what each points to, its meaning and its shape."""


def functions_of(game: Game, policy: Player | None = None) -> list[Function]:
    """Return them, with the game's options as constants, and with the function of a policy that is played so."""
    made = functools.partial(_made, game)
    return [*_rules(game, made), *_tables(game, made), *players_of(game, policy, made)]


def _made(game: Game, result: str, name: str, given: str, doc: str, kernel: Callable[..., Any]) -> Function:
    """A function of C, by the text of its arguments, and the kernel that it calls."""
    state, seen = numba.from_dtype(game.state_dtype), numba.from_dtype(game.observation_dtype)
    arrays = [state, _WORD, seen, _BYTE, _BYTE, numba.float32, _FLAG, _FLAG, _SHORT, _SHORT]  # in BATCH's order
    pointer = numba.types.CPointer
    kinds = {"int32": [_INT], "uint64": [_WORD], "state*": [state], "observation*": [seen]}
    kinds |= {"int8*": [pointer(_BYTE)], "int32*": [pointer(_SHORT)], "batch*": [pointer(kind) for kind in arrays]}
    words = [one.split() for one in given.split(", ")]
    parts = {"batch*": tuple(range(len(BATCH)))}
    arguments = tuple(Argument(word, kind, parts.get(kind, ())) for kind, word in words)
    return Function(name, doc, arguments, result, kernel, tuple(one for kind, _ in words for one in kinds[kind]))


def _rules(game: Game, made: Callable[..., Function]) -> list[Function]:
    """The rules on one state."""
    names, options = kernel_names(game.type, game.options), game.options
    START, DEAL, LEGAL, STEP, OBSERVE, DETERMINIZE = (
        names[name] for name in ("START", "DEAL", "LEGAL", "STEP", "OBSERVE", "DETERMINIZE")
    )
    state_bytes, observation_bytes = game.state_dtype.itemsize, game.observation_dtype.itemsize
    actions, seats = game.num_actions, game.num_seats
    new_deck = _deck(game)
    places = game.cards_drawn if game.with_replacement else game.deck_size

    def start(state, start_outcome):  # type: ignore[no-untyped-def]
        raw = carray(pointer_to(state, _FLAG), (state_bytes,))
        for place in range(state_bytes):
            raw[place] = 0
        START(options, state, start_outcome)

    def deal(state, cards):  # type: ignore[no-untyped-def]
        DEAL(options, state, carray(cards, (places,)))

    def legal(state, mask):  # type: ignore[no-untyped-def]
        out = carray(mask, (actions,))
        for action in range(actions):
            out[action] = 0
        LEGAL(options, state, out)

    def step(state, action):  # type: ignore[no-untyped-def]
        for seat in range(seats):
            state.reward[seat] = 0.0
        STEP(options, state, action)

    def observe(state, seat, observation):  # type: ignore[no-untyped-def]
        raw = carray(pointer_to(observation, _FLAG), (observation_bytes,))
        for place in range(observation_bytes):
            raw[place] = 0
        OBSERVE(options, state, seat, observation)

    def determinize(state, seat, key):  # type: ignore[no-untyped-def]
        DETERMINIZE(options, state, seat, key)

    def shuffle(cards, stream):  # type: ignore[no-untyped-def]
        deck = new_deck()
        stream = shuffle_deck(deck, stream)
        out = carray(cards, (places,))
        for place in range(places):
            out[place] = deck.cards[place]
        return stream

    begin = f"Begin a game, before the deal; the start outcome is below {game.num_start_outcomes}."
    dealt = "Deal where the seat is -1: cards as `shuffle` writes them, or in another order. They may be written to."
    played = "Play a legal action, which is not checked; the state's `reward` is then what each seat gained by it."
    shuffled = f"Write a shuffled pack, or what is drawn of it, to {places} cards; return the stream advanced."
    return [
        made("void", "start", "state* state, int32 start_outcome", begin, start),
        made("void", "deal", "state* state, int32* cards", dealt, deal),
        made("void", "legal", "state* state, int8* mask", "Write 1 for each legal action, else 0.", legal),
        made("void", "step", "state* state, int32 action", played, step),
        made(
            "void", "observe", "state* state, int32 seat, observation* observation", "Write what a seat knows.", observe
        ),
        made(
            "void", "determinize", "state* state, int32 seat, uint64 key", "Redraw what a seat cannot see.", determinize
        ),
        made("uint64", "shuffle", "int32* cards, uint64 stream", shuffled, shuffle),
    ]


def _deck(game: Game) -> Callable[[], Any]:
    """The kernel that returns a pack in order, in memory of its caller's stack."""
    size, drawn, repeated = game.deck_size, game.cards_drawn, bool(game.with_replacement)
    places = drawn if repeated else size
    cards, displaced = on_stack(places), on_stack(max(1, drawn))

    @numba.njit(inline="always")
    def new_deck():  # type: ignore[no-untyped-def]
        deck = Deck(carray(cards(), (places,)), carray(displaced(), (drawn,)), size, drawn, repeated)
        for place in range(places):
            deck.cards[place] = place
        for place in range(drawn):
            deck.displaced[place] = 0
        return deck

    return new_deck  # type: ignore[no-any-return]


def _tables(game: Game, made: Callable[..., Function]) -> list[Function]:
    """Decisions of many tables, as `make_vec` plays them."""
    names, options = table_names(game.type, game.options), game.options
    begin, deal_out, show, step_table = (names[name] for name in ("begin", "deal_out", "show", "step_table"))
    state_bytes, numbers = game.state_dtype.itemsize, game.observation_size
    actions, seats, outcomes = game.num_actions, game.num_seats, game.num_start_outcomes
    limit = game.decision_limit
    base, new_deck = numba.from_dtype(game.observation_base), _deck(game)

    @numba.njit(inline="always")
    def tables(size, states, streams, shown, mask, seat, reward, terminated, truncated, decisions, own):  # type: ignore[no-untyped-def]
        known, whose = carray(mask, (size, actions)), carray(seat, (size,))
        return Batch(
            carray(states, (size,)),
            carray(pointer_to(states, _FLAG), (size, state_bytes)),
            carray(streams, (size,)),
            carray(shown, (size,)),
            carray(pointer_to(shown, base), (size, numbers)),
            known,
            whose,
            carray(reward, (size, seats)),
            carray(terminated, (size,)),
            carray(truncated, (size,)),
            carray(decisions, (size,)),
            carray(own, (size, seats)),
            known,
            whose,
        )

    def open_(states, streams, shown, mask, seat, reward, terminated, truncated, decisions, own, first, count):  # type: ignore[no-untyped-def]
        batch = tables(first + count, states, streams, shown, mask, seat, reward, terminated, truncated, decisions, own)
        deck = new_deck()
        for row in range(first, first + count):
            begin(options, batch, outcomes, row)
            deal_out(options, batch, deck, row)
            show(options, batch, row)
            batch.terminated[row] = 0
            batch.truncated[row] = 0
            for who in range(seats):
                batch.reward[row, who] = 0.0

    def play(  # type: ignore[no-untyped-def]
        states, streams, shown, mask, seat, reward, terminated, truncated, decisions, own, given, first, count, again
    ):
        batch = tables(first + count, states, streams, shown, mask, seat, reward, terminated, truncated, decisions, own)
        chosen = carray(given, (first + count,))
        for row in range(first, first + count):
            action = chosen[row]
            if action < 0 or action >= actions or batch.mask[row, action] == 0:
                return row
        deck = new_deck()
        for row in range(first, first + count):
            step_table(options, batch, deck, outcomes, limit, again != 0, row, chosen[row])
        return -1

    opened = "Begin a game on `count` tables, from the table `first` on, up to its first decision."
    played = (
        "Play `actions[row]` on each of these tables; where a game ends and `autoreset` is not 0, begin the next. "
        "Return -1, or, with nothing played, the first table whose action is not legal."
    )
    rows = "int32 first, int32 count"
    return [
        made("void", "open", f"batch* batch, {rows}", opened, open_),
        made("int32", "play", f"batch* batch, int32* actions, {rows}, int32 autoreset", played, play),
    ]
