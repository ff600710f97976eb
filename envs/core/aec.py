"""PettingZoo's AEC interface over any game.

Order and legality are checked here, not in PettingZoo's wrappers: stacking those caps any environment at about 44,000
decisions a second.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pettingzoo

from . import rng
from .base import Game
from .engine import Engine
from .parts import CHANCE, OVER
from .render import table_text

RENDER_MODES = ("ansi", "human")


class AECEnv(pettingzoo.AECEnv[str, dict[str, Any], int]):  # type: ignore[misc, unused-ignore]
    """One table of a game as a PettingZoo AEC environment; agents are `player_0`, `player_1`, ...

    An observation is `{"observation": flat vector [O], "action_mask": int8 [A]}`; the mask is all zero for an agent who
    is not to act. An illegal action raises IllegalAction and changes nothing. The environment can be deep-copied and
    pickled in mid-game.
    """

    def __init__(self, game: Game, *, render_mode: str | None = None, render_seat: int | None = None) -> None:
        """`render_mode` is None, "ansi" (render() gives text) or "human" (it prints); `render_seat`: whose view, by
        default the actor's."""
        super().__init__()
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode is {render_mode!r}; it takes {', '.join(map(repr, RENDER_MODES))} or None.")
        self.engine = Engine(game, 1)
        if render_seat is not None and not 0 <= render_seat < self.engine.num_seats:
            last = self.engine.num_seats - 1
            raise ValueError(
                f"render_seat is {render_seat}; {game.name} has seats 0..{last}, or None for the seat to act."
            )
        self.game = game
        self.render_mode, self.render_seat = render_mode, render_seat
        name = game.id.replace("-v", "_v")
        self.metadata = {"name": name, "render_modes": list(RENDER_MODES), "is_parallelizable": False, "render_fps": 1}
        self.possible_agents = [f"player_{seat}" for seat in range(self.engine.num_seats)]
        self.agents: list[str] = []
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._deck = self.engine.fresh_deck()
        self._stacked: list[npt.NDArray[np.int64]] = []
        self._no_mask = np.zeros(game.num_actions, np.int8)
        self._no_mask.flags.writeable = False
        self._idle: dict[str, Any] = {"action_mask": self._no_mask}
        self.engine.batch.stream[0] = np.random.SeedSequence().generate_state(1, np.uint64)[0]

    @functools.cached_property
    def _spaces(self) -> tuple[gymnasium.spaces.Dict, gymnasium.spaces.Discrete[Any]]:
        return observation_space(self.game), gymnasium.spaces.Discrete(self.game.num_actions)

    def observation_space(self, agent: str) -> gymnasium.spaces.Dict:
        """The same space object for every agent."""
        return self._spaces[0]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete[Any]:
        """The same space object for every agent."""
        return self._spaces[1]

    @functools.cached_property
    def state_space(self) -> gymnasium.spaces.Box:
        """The space of `state()`."""
        low, high = self.game.observation_bounds
        return gymnasium.spaces.Box(
            np.tile(low, self.engine.num_seats), np.tile(high, self.engine.num_seats), dtype=low.dtype.type
        )

    def state(self) -> npt.NDArray[Any]:
        """What all seats together may know, for centralised training: their observations one after another [N * O]."""
        seats = np.arange(self.engine.num_seats)
        return self.engine.observe(np.zeros_like(seats), seats).reshape(-1)

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a new episode. Without a seed it goes on with the table's own random stream.

        `options` may hold `decks`, packs to be dealt first (each a list of card names or numbers from the top; cards
        left out follow in ascending order), and `start_outcome`, what chance decides before the deal. Afterwards packs
        come from the random stream again. Other keys are let pass, as PettingZoo's own tests expect.
        """
        given = options or {}
        decks, start_outcome = given.get("decks", ()), given.get("start_outcome")
        stacked = [stacked_deck(self.game, deck) for deck in decks]
        if start_outcome is not None and not 0 <= int(start_outcome) < self.engine.start_outcomes:
            raise ValueError(
                f"start_outcome is {start_outcome}; under these options it takes 0..{self.engine.start_outcomes - 1}."
            )
        if seed is not None:
            if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
                raise ValueError(f"The seed is {seed!r}; it must be a whole number of 0 or more.")
            self.engine.batch.stream[0] = rng.stream_of(int(seed))
        self._stacked = stacked
        if start_outcome is None:
            start_outcome = 0
            if self.engine.start_outcomes > 1:
                with np.errstate(over="ignore"):
                    self.engine.batch.stream[0], start_outcome = rng.below(
                        self.engine.batch.stream[0], self.engine.start_outcomes
                    )
        self.engine.start_one(int(start_outcome))
        self._deal()
        self.engine.show_one()
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = dict.fromkeys(self.agents, self._idle)
        self._select()

    def _deal(self) -> None:
        while self.engine.acting[0] == CHANCE:
            if self._stacked:
                self.engine.deal_one(self._stacked.pop(0))
            else:
                self.engine.shuffle_one(self._deck)
                self.engine.deal_one(self._deck.cards)

    def _select(self) -> None:
        agent = self.possible_agents[self.engine.batch.seat[0]]
        self._mask = self.engine.batch.mask[0].copy()
        self.agent_selection = agent
        self.infos[agent] = {"action_mask": self._mask}

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent may know now, as new arrays."""
        seat = self._seats[agent]
        batch = self.engine.batch
        if seat == batch.seat[0]:
            return {"observation": batch.flat[0].copy(), "action_mask": self._mask}
        flat = self.engine.observe(np.zeros(1, np.int64), np.array([seat]))[0]
        return {"observation": flat, "action_mask": self._no_mask.copy()}

    def step(self, action: int | None) -> None:
        """Play the selected agent's action; None for an agent whose game is over.

        Raises IllegalAction (a ValueError), with the legal actions in its sentence, and leaves everything as it was.
        """
        if not self.agents:
            raise RuntimeError("Nobody is at the table: the game is over or was never begun; call reset().")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                raise self.engine.refuse(0, action)
            self._was_dead_step(None)
            return
        engine, batch = self.engine, self.engine.batch
        number = _whole(action)
        if number is None:
            raise TypeError(f"The action is {action!r}; it must be a whole number of 0..{self.game.num_actions - 1}.")
        if not 0 <= number < self.game.num_actions or not batch.mask[0, number]:
            raise engine.refuse(0, number)
        engine.play_one(number, self._deck, stacked=bool(self._stacked))
        if engine.acting[0] == CHANCE or self._stacked:
            self._deal()
            engine.finish_one()
        rewards = batch.reward[0].tolist()
        self.rewards = dict(zip(self.possible_agents, rewards, strict=True))
        self._cumulative_rewards[agent] = 0.0
        if any(rewards):
            for name, reward in self.rewards.items():
                self._cumulative_rewards[name] += reward
        self.infos[agent] = self._idle
        if batch.seat[0] == OVER:
            ended, cut = bool(batch.terminated[0]), bool(batch.truncated[0])
            self._mask = self._no_mask
            self.terminations = dict.fromkeys(self.agents, ended)
            self.truncations = dict.fromkeys(self.agents, cut)
            self.infos = {
                name: {**self._idle, **self.game.info(batch.state[0], seat)}
                for seat, name in enumerate(self.possible_agents)
            }
            self.agent_selection = self.agents[0]
        else:
            self._select()
        if self.render_mode == "human":
            self.render()

    def render(self) -> str | None:
        """The table as one seat sees it: text in mode "ansi", printed in mode "human"."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called, but render_mode is None; make the environment with render_mode='ansi'."
            )
            return None
        text = table_text(self.engine, 0, self.render_seat)
        if self.render_mode == "human":
            print(text)
            return None
        return text

    def close(self) -> None:
        """Nothing is held open."""

    def snapshot(self) -> npt.NDArray[Any]:
        """The table in mid-game as a one-element record array (`state`, `stream`, ... and a checksum), fit for
        `np.save`."""
        batch = self.engine.batch
        kept = np.zeros(1, self.snapshot_dtype())
        kept["state"], kept["stream"], kept["decisions"] = batch.raw, batch.stream, batch.decisions
        kept["rewards"] = [self._cumulative_rewards.get(agent, 0.0) for agent in self.possible_agents]
        kept["check"] = _checksum(kept)
        return kept

    def restore(self, kept: npt.NDArray[Any]) -> None:
        """Go on from a `snapshot` of the same game and options; raises ValueError for any other array."""
        mine = self.snapshot_dtype()
        if kept.dtype != mine or kept.shape != (1,):
            raise ValueError(
                f"This is no snapshot of {self.game.id} under these "
                f"options: expected one record of {mine.itemsize} bytes."
            )
        if int(kept["check"][0]) != _checksum(kept):
            raise ValueError(f"This snapshot of {self.game.id} is damaged: its checksum does not match its contents.")
        seat = int(kept["state"].reshape(-1).view(self.engine.batch.state.dtype)["seat"][0])
        if not 0 <= seat < self.engine.num_seats:
            raise ValueError(f"The snapshot has seat {seat} to act; only a table in mid-game can be restored.")
        batch = self.engine.batch
        batch.raw[:], batch.stream[:], batch.decisions[:] = kept["state"], kept["stream"], kept["decisions"]
        self._stacked = []
        self.engine.show_one()
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict(zip(self.agents, kept["rewards"][0].tolist(), strict=True))
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = dict.fromkeys(self.agents, self._idle)
        self._select()

    def snapshot_dtype(self) -> np.dtype[Any]:
        """The record type of `snapshot`."""
        size, seats = self.engine.batch.raw.shape[1], self.engine.num_seats
        return np.dtype(
            [
                ("state", "u1", (size,)),
                ("stream", "u8"),
                ("decisions", "i4"),
                ("rewards", "f8", (seats,)),
                ("check", "u4"),
            ]
        )


def _checksum(kept: npt.NDArray[Any]) -> int:
    """Of all of a snapshot but its last field, so that a damaged file is refused and not played."""
    return zlib.crc32(kept.tobytes()[: -kept.dtype["check"].itemsize])


def observation_space(game: Game) -> gymnasium.spaces.Dict:
    """The tight space of `{"observation", "action_mask"}`."""
    low, high = game.observation_bounds
    return gymnasium.spaces.Dict(
        {
            "observation": gymnasium.spaces.Box(low, high, dtype=low.dtype.type),
            "action_mask": gymnasium.spaces.Box(0, 1, (game.num_actions,), np.int8),
        }
    )


def _whole(action: Any) -> int | None:
    """A Python or NumPy whole number, or a NumPy array holding exactly one, as an int; None for anything else."""
    if type(action) is int:
        return action
    if isinstance(action, np.integer):
        return int(action)
    if isinstance(action, np.ndarray) and action.dtype.kind in "iu" and action.shape == ():
        return int(action)
    return None


def stacked_deck(game: Game, cards: Sequence[str | int]) -> npt.NDArray[np.int64]:
    """A whole pack that begins with `cards` (names or numbers) and goes on with the others in ascending order.

    Of a game that draws with replacement, at least as many cards as a deal can use. Raises ValueError for a card that
    the pack does not have, or, without replacement, has twice in `cards`.
    """
    size, repeated = game.deck_size, game.with_replacement
    numbers = [game.card_number(card) if isinstance(card, str) else int(card) for card in cards]
    for number in numbers:
        if not 0 <= number < size:
            raise ValueError(f"There is no card number {number} in {game.name}; the pack has 0..{size - 1}.")
        if numbers.count(number) > 1 and not repeated:
            raise ValueError(
                f"The card {game.card_name(number)} stands twice in the deck given; a pack has each card once."
            )
    given = set(numbers)
    rest = [number for number in range(size) if number not in given]
    if repeated:
        rest = [number % size for number in range(game.cards_drawn - len(numbers))]
    return np.array(numbers + rest, np.int64)
