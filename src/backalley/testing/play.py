"""Checks of a game's rules in random play: masks, hidden information, determinizations, cards, returns and bots.

Episode number k of a check depends only on the seed `seed + k`, so `check_x(game, seed=that, episodes=1)` repeats a
failed one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import BrokenPromise
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.game_state import GameState
from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import COMPILED, OVER, Bot
from backalley.envs.core.rules import rng
from backalley.envs.core.text import UnreadableAnswer, legal_texts, observation_text, read_answer

from .report import NOT_TRIED

EPISODES = 4
"""Episodes of a check, by default."""
EPISODES_OF_BOTS = 8 if COMPILED else 2
POSITIONS = 20 if COMPILED else 5
"""The approximate number of positions checked in each episode: uncompiled, a check takes a hundred times as long."""
_ROUNDING = 1e-4
"""Rewards are single floats, and a return is the sum of many."""


class Table:
    """One table in random play, with its seed."""

    def __init__(self, env: AECEnv, seed: int) -> None:
        self.env, self.game, self.seed = env, env.game, seed
        self.random = np.random.default_rng(seed)
        self.batch = env.arrays
        env.reset(seed=seed)

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return bool(self.batch.seat[0] == OVER)

    def hold(self, kept: Any, sentence: str) -> None:
        """Raise BrokenPromise, with game, seed and decision, if `kept` is false."""
        if not kept:
            raise BrokenPromise(f"{self.game!r}, seed {self.seed}, decision {int(self.batch.decisions[0])}: {sentence}")

    def play(self, action: int | None = None) -> npt.NDArray[np.float32]:
        """Play an action, by default a random legal one; return the rewards [N]."""
        self.env.step(random_action(self.env, self.random) if action is None else action)
        rewards: npt.NDArray[np.float32] = self.batch.reward[0]
        return rewards

    def state_bytes(self) -> bytes:
        """Return the table and its random stream."""
        return self.batch.raw.tobytes() + self.batch.mask.tobytes() + self.batch.stream.tobytes()


Look = Callable[[Table], int]
"""Checks a position; returns how many things it tried there."""


def random_action(env: AECEnv, random: np.random.Generator) -> int:
    """Return a uniformly drawn legal action of the seat to act."""
    return int(random.choice(np.flatnonzero(env.arrays.mask[0])))


def random_pack(game: Game, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return a pack as chance may draw it."""
    if game.with_replacement:
        return random.integers(game.deck_size, size=game.cards_drawn)
    return random.permutation(game.deck_size)


def random_actions(mask: npt.NDArray[Any], random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return one uniformly drawn legal action per row of masks [B, A]."""
    actions: npt.NDArray[np.int64] = np.argmax(random.random(mask.shape) * mask, axis=1)
    return actions


def walk(table: Table, looks: Sequence[Look], positions: int = POSITIONS) -> tuple[int, int]:
    """Play an episode to its end at random, and check about that many positions: the first ones, and later ones more
    and more rarely. Return how many positions were checked, and how much was tried there."""
    seen, tried = 0, 0
    returns = np.zeros(table.game.num_seats)
    began = int(table.batch.decisions[0])
    while not table.over:
        if table.random.random() * (positions + int(table.batch.decisions[0]) - began) < positions:
            seen += 1
            tried += sum(look(table) for look in looks)
        returns += table.play()
    table.hold(
        all(table.env.terminations.values()) or all(table.env.truncations.values()),
        "the episode is over, and not every agent is handed that it was terminated or truncated.",
    )
    for agent in table.env.agents:
        table.hold(not table.env.observe(agent)["action_mask"].any(), f"the episode is over, and {agent} has a mask.")
    if began == 0:
        hold_returns(table.game, returns[None], f"{table.game!r}, seed {table.seed}")
    return seen, tried


class _Walked(NamedTuple):
    """Walks in sum."""

    episodes: int
    positions: int
    tried: int

    def __str__(self) -> str:
        return f"{self.positions:,} positions of {self.episodes} random episodes"


def walks(
    game: Game, looks: Sequence[Look], seed: int, episodes: int, positions: int = POSITIONS, *, events: bool = False
) -> _Walked:
    """Walk through that many episodes, and more if they are so short that few positions were met; with `events` the
    tables keep theirs."""
    env, found = AECEnv(game, events=events), _Walked(0, 0, 0)
    while found.episodes < episodes or found.positions < positions:
        seen, tried = walk(Table(env, seed + found.episodes), looks, positions)
        found = _Walked(found.episodes + 1, found.positions + seen, found.tried + tried)
    return found


def _look_at_masks(table: Table) -> int:
    batch, game, env = table.batch, table.game, table.env
    seat, mask = int(batch.seat[0]), batch.mask[0]
    table.hold(0 <= seat < game.num_seats, f"seat {seat} is to act; seats are 0..{game.num_seats - 1}.")
    table.hold(mask.any(), f"seat {seat} is to act and has no legal action.")
    table.hold(set(np.unique(mask)) <= {0, 1}, f"the mask of seat {seat} holds other numbers than 0 and 1.")
    for agent in env.agents:
        off_turn = agent != env.agent_selection
        table.hold(not (off_turn and env.observe(agent)["action_mask"].any()), f"{agent} has a mask off turn.")
    illegal, before = np.flatnonzero(mask == 0), table.state_bytes()
    tried = [*table.random.choice(illegal, min(2, len(illegal)), replace=False).tolist(), -1, game.num_actions]
    for action in tried:
        try:
            env.step(int(action))
        except IllegalAction as refusal:
            said = str(refusal)
            table.hold("legal: " in said or "no action" in said, f"the refusal of action {action} names no legal one.")
        else:
            table.hold(False, f"action {action} is not legal for seat {seat}, and was played.")
        table.hold(table.state_bytes() == before, f"action {action} was refused, and changed the table.")
    return len(tried)


def _look_for_leaks(table: Table) -> int:
    low, high = table.game.observation_bounds
    position = table.env.position()
    shown = np.array([position.observation(seat) for seat in range(table.game.num_seats)])
    outside = np.flatnonzero(((shown < low) | (shown > high)).any(axis=0))
    fields = [name for name, at in table.game.observation_fields.items() if set(range(at.start, at.stop)) & {*outside}]
    table.hold(not fields, f"the observation's {', '.join(fields)} leave the bounds that are declared.")
    for viewer in range(len(shown)):
        _look_for_leaks_to(table, position, viewer, shown[viewer])
    return len(shown)


def _look_for_leaks_to(table: Table, position: GameState, viewer: int, shown: npt.NDArray[Any]) -> None:
    """Check that redrawing what a seat cannot see changes nothing that it sees, and does not depend on what it cannot
    see."""
    game, batch, key = table.game, table.batch, int(table.random.integers(2**63))
    redrawn = position.determinize(viewer, key)
    determinization = redrawn.record()
    again = redrawn.determinize(viewer, key + 1).determinize(viewer, key).record()
    differing = [
        name for name in determinization.dtype.names or () if not np.array_equal(determinization[name], again[name])
    ]
    table.hold(not differing, f"determinize lets {differing} depend on what seat {viewer} cannot see.")
    table.hold(determinization["seat"] == batch.state["seat"][0], f"determinize for seat {viewer} changes who acts.")
    seen = redrawn.observation(viewer)
    places = game.observation_fields.items()
    changed = [name for name, at in places if not np.array_equal(seen[at.start : at.stop], shown[at.start : at.stop])]
    table.hold(not changed, f"seat {viewer} sees something hidden: determinize changes its {', '.join(changed)}.")
    drawn = game.table_str(determinization, viewer), game.table_str(batch.state[0], viewer)
    table.hold(drawn[0] == drawn[1], f"the table as seat {viewer} sees it shows something hidden.")
    table.hold(whole_pack(game, determinization), f"determinize for seat {viewer} loses cards, or deals one twice.")
    if viewer == int(batch.seat[0]):
        mask = np.zeros(game.num_actions, np.int8)
        game.kernels.legal(game.options, determinization, mask)
        table.hold(np.array_equal(mask, batch.mask[0]), f"the legal actions of seat {viewer} show something hidden.")


def _look_at_cards(table: Table) -> int:
    table.hold(whole_pack(table.game, table.batch.state[0]), "a card is missing, or lies in two places.")
    return table.game.deck_size


def _look_at_texts(table: Table) -> int:
    state, key = table.env.position(), int(table.random.integers(2**63))
    since = None if table.game.type.events is None else "episode"
    for seat in range(table.game.num_seats):
        other = state.determinize(seat, key)
        same = observation_text(other, seat, since=since) == observation_text(state, seat, since=since)
        table.hold(same, f"what seat {seat} reads shows something hidden.")
        same = seat != state.seat or legal_texts(other) == legal_texts(state)
        table.hold(same, f"the legal actions that seat {seat} reads show something hidden.")
    for action, name in zip(state.legal_actions(), legal_texts(state), strict=True):
        try:
            table.hold(read_answer(state, name) == action, f"{name!r}, action {action}, is read as another.")
        except UnreadableAnswer as error:
            table.hold(False, str(error))
    return len(state.legal_actions())


LOOKS: tuple[Look, ...] = (_look_at_masks, _look_for_leaks, _look_at_cards)
"""All checks of a decision."""


def check_masks(game: Game, *, seed: int = 0, episodes: int = EPISODES) -> str:
    """Check that at every decision a seat has a legal action, and that illegal ones are refused and change nothing."""
    found = walks(game, [_look_at_masks], seed, episodes)
    return f"At {found} somebody had a legal action; {found.tried:,} illegal ones were refused and changed nothing."


def check_leaks(game: Game, *, seed: int = 0, episodes: int = EPISODES) -> str:
    """Check that observation, table and mask show nothing hidden, and `determinize` depends on nothing hidden."""
    found = walks(game, [_look_for_leaks], seed, episodes)
    return (
        f"At {found} all that a seat cannot see was redrawn, {found.tried:,} times: what it sees stayed the same and "
        "within its bounds."
    )


def check_cards(game: Game, *, seed: int = 0, episodes: int = EPISODES) -> str:
    """Check that each card is in one place."""
    return f"At {walks(game, [_look_at_cards], seed, episodes)} each of {game.deck_size} cards lay in one place."


def check_texts(game: Game, *, seed: int = 0, episodes: int = EPISODES) -> str:
    """Check that what a seat reads stays the same when all that it cannot see is redrawn, and that the name of every
    legal action is read as that action."""
    found = walks(game, [_look_at_texts], seed, episodes, events=game.type.events is not None)
    return (
        f"At {found} each seat read the same text with all that it cannot see redrawn, and {found.tried:,} legal "
        "actions were read by their names."
    )


def check_deal(game: Game, *, seed: int = 0) -> str:
    """Check that a deal uses only cards that chance has drawn: those below `cards_needed` may be in any order."""
    drawn = game.cards_drawn
    if drawn == game.deck_size or game.with_replacement:
        return f"{NOT_TRIED}a deal may use every card that is drawn."
    deck, dealt = np.random.default_rng(seed).permutation(game.deck_size), []
    for order in (1, -1):
        state = np.zeros(1, game.state_dtype)
        game.kernels.start(game.options, state[0], 0)
        game.kernels.deal(game.options, state[0], np.concatenate([deck[:drawn], deck[drawn:][::order]]))
        dealt.append(state.tobytes())
    if dealt[0] != dealt[1]:
        raise BrokenPromise(f"{game!r}, seed {seed}: a deal uses cards below the {drawn} that cards_needed names.")
    return f"A deal used only the first {drawn} of {game.deck_size} cards."


def check_returns(game: Game, *, seed: int = 0, episodes: int = 10 * EPISODES) -> str:
    """Check that returns are within `reward_range`, and sum to 0 where the game says so."""
    found = walks(game, [], seed, episodes)
    low, high = game.reward_range
    summed = " and summed to 0" if game.zero_sum else ""
    return f"The returns of {found.episodes} random episodes kept within {low:g} to {high:g}{summed}."


def check_play(game: Game, *, seed: int = 0, episodes: int = EPISODES, positions: int = POSITIONS) -> str:
    """Run `check_masks`, `check_leaks`, `check_cards` and `check_returns` in the same episodes, and `check_deal`."""
    check_deal(game, seed=seed)
    return f"Masks, leaks, cards and returns were checked at {walks(game, LOOKS, seed, episodes, positions)}."


def check_redraws(game: Game, *, seed: int = 0, episodes: int = EPISODES - 1, positions: int = 4) -> str:
    """Check that a determinization can be played to its end, and that determinizations of many keys differ."""
    env, played = AECEnv(game), 0
    for number in range(episodes):
        table = Table(env, seed + number)
        moment = _play_some(table, int(table.random.integers(60)))
        if table.over:  # a short game: somewhere in it
            table = Table(env, table.seed)
            _play_some(table, int(table.random.integers(moment)))
        if table.over:
            continue
        viewer, key = int(table.random.integers(game.num_seats)), int(table.random.integers(2**63))
        table.batch.state[0] = table.env.position().determinize(viewer, key).record()
        table.env.refresh()
        walk(table, LOOKS, positions)
        played += 1
    _draws_differ(Table(env, seed + 1))
    return f"{played} of {episodes} random episodes were redrawn in the middle and played to the end; the draws differ."


def _play_some(table: Table, decisions: int) -> int:
    """Play that many decisions at random, or to the end; return how many there were."""
    while not table.over and table.batch.decisions[0] < decisions:
        table.play()
    return int(table.batch.decisions[0])


def _draws_differ(table: Table) -> None:
    """From the first decision on where seat 0 does not know nearly everything."""
    while not table.over and (COMPILED or table.batch.decisions[0] < 100):
        position = table.env.position()
        with np.errstate(over="ignore"):
            keys = [int(rng.fork(np.uint64(5), number)) for number in range(20)]
        determinizations = {position.determinize(0, key).record().tobytes() for key in keys}
        if len(determinizations) > min(15, table.game.deck_size // 3):  # a small pack can fall in few ways
            return
        table.hold(
            len(determinizations) > 1 or determinizations == {table.batch.raw.tobytes()},
            "determinize draws the same determinization again and again.",
        )
        table.play()
    table.env.reset(seed=table.seed)
    places = [pile for pile in table.game.piles(table.batch.state[0]).values() if len(pile)]
    # A lone player may hold all that the state keeps; of two who hold the whole pack each knows the other's hand.
    table.hold(table.game.num_seats == 1 or len(places) <= 2, "determinize redraws nothing.")


def check_bots(game: Game, *, seed: int = 0, episodes: int = EPISODES_OF_BOTS) -> str:
    """Bots choose legal actions, the same ones with the same key, and none that they say they never play."""
    bots = [bot for bot in game.bots.values() if bot.fast]
    if not bots:
        return f"{NOT_TRIED}the game has no fast bots."
    env, number, decisions, asked = AECEnv(game), 0, 0, 0
    while number < episodes or decisions < POSITIONS:
        table = Table(env, seed + number)
        number, batch, skill = number + 1, table.batch, table.random.random()
        while not table.over and batch.decisions[0] < 400:
            decisions += 1
            action = None
            if table.random.random() < skill:
                action = _asked(table, bots[table.seed % len(bots)])
                asked += 1
            table.play(action)
    return (
        f"In {number} episodes of bots and chance {asked:,} actions of bots were legal, the same with one key, and "
        "among those that they say they play."
    )


def _asked(table: Table, bot: Bot) -> int:
    """What a bot plays, which has to be legal, and the same when it is asked again; with any key, unless the bot says
    how it draws."""
    game, batch, key = table.game, table.batch, np.uint64(table.random.integers(2**63))
    action, again = (int(bot.act(game.options, batch.observation[0], batch.mask[0], key)) for _ in range(2))
    legal = 0 <= action < game.num_actions and batch.mask[0, action]
    table.hold(legal, f"bot {bot.name} chose {action}, which is not legal.")
    table.hold(again == action, f"bot {bot.name} chose {action}, then {again} with the same key.")
    if bot.chances is None:
        other = int(bot.act(game.options, batch.observation[0], batch.mask[0], np.uint64(table.random.integers(2**63))))
        table.hold(other == action, f"bot {bot.name} draws by its key, and has no `chances` that tell how.")
        return action
    odds = np.full(game.num_actions, np.nan)
    bot.chances(game.options, batch.observation[0], batch.mask[0], odds)
    fits = (odds >= 0).all() and not odds[batch.mask[0] == 0].any() and abs(odds.sum() - 1) < 1e-9
    table.hold(fits, f"the chances of bot {bot.name} are no probabilities of the legal actions: {odds}.")
    table.hold(odds[action] > 0, f"bot {bot.name} chose {action}, which its chances say it never does.")
    return action


def whole_pack(game: Game, state: Any) -> bool:
    """Return whether the piles hold every card of the pack once, or with replacement as many cards as are drawn."""
    lying = sorted(card for pile in game.piles(state).values() for card in pile)
    if game.with_replacement:
        return len(lying) == game.cards_drawn and set(lying) <= set(game.pack)
    return lying == sorted(game.pack)


def hold_returns(game: Game, returns: npt.NDArray[np.float64], where: str) -> None:
    """Raise BrokenPromise unless returns [n, N] are within their bounds and, where the game says so, sum to 0."""
    low, high = game.reward_range
    if ((returns < low - _ROUNDING) | (returns > high + _ROUNDING)).any():
        raise BrokenPromise(
            f"{where}: returns from {returns.min():g} to {returns.max():g} leave the bounds {low:g} to {high:g}."
        )
    if game.zero_sum and (np.abs(returns.sum(1)) > _ROUNDING).any():
        raise BrokenPromise(f"{where}: returns sum to {np.abs(returns.sum(1)).max():g} instead of 0.")
