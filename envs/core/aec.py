"""PettingZoo's AEC interface over any game.

Order and legality are checked here, not in PettingZoo's wrappers: stacking those caps any environment at about 44,000
decisions a second.
"""

from __future__ import annotations

import functools
import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pettingzoo

from . import rng
from .base import Game
from .doors import whole
from .engine import BUSY, OTHER_WAYS, Engine, check_on_illegal, one_thread
from .opening import Opening, read_opening
from .parts import OVER
from .render import RENDER_MODES, check_render_mode, rendered, table_svg
from .spaces import check_observation, dict_space, vector_space

_LET_PASS = ("options",)
"""PettingZoo's own `api_test` resets with `options={"options": 1}`."""
_NOBODY = "Nobody is at the table: the game is over or was never begun; call reset()."


class AECEnv(pettingzoo.AECEnv[str, dict[str, Any], int]):  # type: ignore[misc, unused-ignore]
    """One table of a game as a PettingZoo AEC environment; agents are `player_0`, `player_1`, ...

    An observation is `{"observation": flat vector [O], "action_mask": int8 [A]}`; the mask is all zero for an agent who
    is not to act. With `observation="flat"` it is the vector alone, as wrappers that work on arrays want it; the mask
    is in `infos[agent]["action_mask"]` either way. An illegal action raises IllegalAction and changes nothing, unless
    `on_illegal` says otherwise. When an episode has ended, `info["ended"]` says why: "terminated", "truncated" or
    "illegal_action". The environment can be deep-copied and pickled in mid-game. One thread at a time: a call while
    another thread is in one raises RuntimeError, and does not wait.
    """

    def __init__(
        self,
        game: Game,
        *,
        render_mode: str | None = None,
        render_seat: int | None = None,
        on_illegal: str = "raise",
        observation: str = "dict",
    ) -> None:
        """`render_mode` is None or one of `render.RENDER_MODES`; `render_seat`: whose view, by default the actor's.

        `on_illegal`, what an illegal action does: "raise"; "terminate" (the offender gets the lower bound of
        `reward_range`, the others 0, and the episode is over); "random" (a random legal action is played instead, and
        the table's own chance is none other for it). `info["illegal_action"]` then holds the sentence that would have
        been raised: every agent's when the episode has ended for it, the offender's at its next turn when it went on.

        `observation` is "dict" (`{"observation", "action_mask"}`) or "flat" (the vector).
        """
        super().__init__()
        check_render_mode(render_mode)
        check_on_illegal(on_illegal)
        check_observation(observation)
        self.engine = Engine(game, 1)
        self.engine.other_ways = OTHER_WAYS if on_illegal == "raise" else ""
        seat = whole(render_seat)
        if render_seat is not None and (seat is None or not 0 <= seat < self.engine.num_seats):
            last = self.engine.num_seats - 1
            raise ValueError(
                f"render_seat is {render_seat!r}; {game.name} has seats 0..{last}, or None for the seat to act."
            )
        self.game = game
        self.render_mode, self.render_seat, self.on_illegal = render_mode, seat, on_illegal
        self.observation, self._flat = observation, observation == "flat"
        name = game.id.replace("-v", "_v")
        self.metadata = {"name": name, "render_modes": list(RENDER_MODES), "is_parallelizable": False, "render_fps": 1}
        self.possible_agents = [f"player_{seat}" for seat in range(self.engine.num_seats)]
        self.agents: list[str] = []
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._look()
        self._deck = self.engine.fresh_deck()
        self._no_mask = np.zeros(game.num_actions, np.int8)
        self._no_mask.flags.writeable = False
        self._begun = False
        self._tells = game.type.open_info is not None
        self._open: dict[str, Any] = {}
        """What the game tells everybody at any time."""
        self._dealt = self._deals()
        self._refused: dict[str, str] = {}
        """The sentence on an illegal action in whose place another was played, until that agent's next action."""
        self._began = 0, Opening()
        """The stream with which the episode began, and what was said of its beginning."""
        self._actions: list[int] = []
        """What has been played in it."""
        self.engine.batch.stream[0] = np.random.SeedSequence().generate_state(1, np.uint64)[0]

    def _look(self) -> None:
        """The engine's arrays of the one table, as views: taking a row anew at each step costs a twentieth of it."""
        batch = self.engine.batch
        self._views = batch.flat[0], batch.mask[0], batch.reward[0]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_views", "_scratch")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._look()

    @functools.cached_property
    def _spaces(self) -> tuple[gymnasium.spaces.Space[Any], gymnasium.spaces.Discrete[Any]]:
        return (vector_space if self._flat else dict_space)(self.game), gymnasium.spaces.Discrete(self.game.num_actions)

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """The same space object for every agent. Raises ValueError for one who is none."""
        if agent not in self.possible_agents:
            raise self._nobody(agent)
        return self._spaces[0]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete[Any]:
        """The same space object for every agent. Raises ValueError for one who is none."""
        if agent not in self.possible_agents:
            raise self._nobody(agent)
        return self._spaces[1]

    def _nobody(self, agent: Any) -> ValueError:
        return ValueError(f"There is no agent {agent!r}; the agents are {', '.join(self.possible_agents)}.")

    def _check_begun(self, what: str) -> None:
        if not self._begun:
            raise RuntimeError(f"{what}: the table has not been dealt; call reset() first.")

    @functools.cached_property
    def state_space(self) -> gymnasium.spaces.Box:
        """The space of `state()`."""
        low, high = self.game.observation_bounds
        return gymnasium.spaces.Box(
            np.tile(low, self.engine.num_seats), np.tile(high, self.engine.num_seats), dtype=low.dtype.type
        )

    @one_thread
    def state(self) -> npt.NDArray[Any]:
        """What all seats together may know, for centralised training: their observations one after another [N * O]."""
        self._check_begun("state()")
        seats = np.arange(self.engine.num_seats)
        return self.engine.observe(np.zeros_like(seats), seats).reshape(-1)

    @one_thread
    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a new episode. Without a seed it goes on with the table's own random stream.

        `options` may hold `decks`, packs to be dealt first (each a list of card names or numbers from the top; cards
        left out follow in ascending order), and `start_outcome`, what chance decides before the deal. Afterwards packs
        come from the random stream again. Raises TypeError or ValueError in a sentence, before anything has changed.
        """
        opening = read_opening(self.game, options, also=_LET_PASS)
        if seed is not None:
            number = whole(seed)
            if number is None or number < 0:
                raise ValueError(f"The seed is {seed!r}; it must be a whole number of 0 or more.")
            self.engine.batch.stream[0] = rng.stream_of(number)
        self._began, self._actions = (int(self.engine.batch.stream[0]), opening or Opening()), []
        self.engine.open_one(opening, self._deck)
        self._sit_down(dict.fromkeys(self.possible_agents, 0.0))

    def _sit_down(self, gathered: dict[str, float]) -> None:
        """Everybody is at the table, and somebody is to act."""
        self._begun = True
        self._refused.clear()
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = gathered
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        if self._tells:
            self._look_about()
        self.infos: dict[str, dict[str, Any]] = {
            agent: {"action_mask": self._no_mask, **self._open} for agent in self.agents
        }
        self._select()

    def _select(self) -> None:
        agent = self.possible_agents[self.engine.batch.seat[0]]
        self.agent_selection = agent
        told: dict[str, Any] = {"action_mask": self._views[1].copy(), **self._open}
        if self._refused and agent in self._refused:
            told["illegal_action"] = self._refused[agent]
        self.infos[agent] = told

    def _look_about(self) -> None:
        """What the game tells everybody, until the next deal."""
        self._open, self._dealt = self.game.open_info(self.engine.batch.state[0]), self._deals()

    def _deals(self) -> tuple[int, int]:
        """What no deal leaves as it was: the table's stream, and how many packs are yet to come before it."""
        return int(self.engine.batch.stream[0]), len(self.engine.stacked.get(0, ()))

    @one_thread
    def observe(self, agent: str) -> Any:
        """What an agent may know now, as arrays of its own: a dictionary, or the vector. Raises ValueError for one who
        is none, and RuntimeError before the first reset."""
        return self._shown(agent)

    def _shown(self, agent: str) -> Any:
        try:
            seat = self._seats[agent]
        except (KeyError, TypeError):
            raise self._nobody(agent) from None
        if seat == self.engine.batch.seat[0]:
            vector, mask, _ = self._views
            return vector.copy() if self._flat else {"observation": vector.copy(), "action_mask": mask.copy()}
        self._check_begun("observe()")
        vector = self.engine.observe(np.zeros(1, np.int64), np.array([seat]))[0]
        mask = np.zeros(self.game.num_actions, np.int8)
        return vector if self._flat else {"observation": vector, "action_mask": mask}

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its latest action, terminated, truncated and info of the agent to act. Raises
        RuntimeError where there is none."""
        if not self.agents:
            raise RuntimeError(_NOBODY)
        lock = self.engine.lock
        if not lock.acquire(False):
            raise RuntimeError(BUSY)
        try:
            agent = self.agent_selection
            shown = self._shown(agent) if observe else None
            reward, info = self._cumulative_rewards[agent], self.infos[agent]
            return shown, reward, self.terminations[agent], self.truncations[agent], info
        finally:
            lock.release()

    def step(self, action: int | None) -> None:
        """Play the selected agent's action; None for an agent whose game is over.

        Raises TypeError for anything but a whole number and, unless `on_illegal` says otherwise, IllegalAction (a
        ValueError) with the legal actions in its sentence; everything is then as it was.
        """
        lock = self.engine.lock
        if not lock.acquire(False):
            raise RuntimeError(BUSY)
        try:
            self._step(action)
        finally:
            lock.release()

    def _step(self, action: int | None) -> None:
        if not self.agents:
            raise RuntimeError(_NOBODY)
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                raise self.engine.refuse(0, action)
            self._was_dead_step(None)
            return
        engine, (_, mask, reward) = self.engine, self._views
        number = action if type(action) is int else whole(action)
        if number is None:
            raise TypeError(f"The action is {action!r}; it must be a whole number of 0..{engine.num_actions - 1}.")
        refused = None
        if not 0 <= number < engine.num_actions or not mask[number]:
            refused = self._illegal(number)
        else:
            self._actions.append(number)
            if engine.stacked:
                engine.move_one(number, self._deck)
            else:
                engine.play_one(number, self._deck)
        if self._refused:
            self._refused.pop(agent, None)
        if refused is not None and self.on_illegal == "random":
            self._refused[agent] = refused
        gained = reward.tolist()
        self._cumulative_rewards[agent] = 0.0
        if any(gained):
            self.rewards = dict(zip(self.possible_agents, gained, strict=True))
            for name, value in self.rewards.items():
                self._cumulative_rewards[name] += value
        else:
            self.rewards = dict.fromkeys(self.possible_agents, 0.0)
        batch = engine.batch
        if self._tells and (batch.seat[0] == OVER or self._deals() != self._dealt):
            self._look_about()
            for told in self.infos.values():
                told.update(self._open)
        self.infos[agent] = {"action_mask": self._no_mask, **self._open}
        if batch.seat[0] == OVER:
            ended, cut = bool(batch.terminated[0]), bool(batch.truncated[0])
            self.terminations = dict.fromkeys(self.agents, ended)
            self.truncations = dict.fromkeys(self.agents, cut)
            forfeited = refused is not None and self.on_illegal == "terminate"
            why = "illegal_action" if forfeited else "terminated" if ended else "truncated"
            for seat, name in enumerate(self.possible_agents):
                words = {"illegal_action": refused} if forfeited else self.game.info(batch.state[0], seat)
                if name in self._refused:
                    words["illegal_action"] = self._refused[name]
                self.infos[name] = {"action_mask": self._no_mask, **self._open, **words, "ended": why}
            self.agent_selection = self.agents[0]
        else:
            self._select()
        if self.render_mode == "human":
            self.render()

    def _illegal(self, number: int) -> str:
        """What an illegal action does; gives the sentence on it, where it does not raise it."""
        refusal = self.engine.refuse(0, number)
        if self.on_illegal == "raise":
            raise refusal
        if self.on_illegal == "terminate":
            self.engine.forfeit(0)
        else:
            instead = self.engine.legal_instead(0)
            self._actions.append(instead)
            self.engine.move_one(instead, self._deck)
        return str(refusal)

    @one_thread
    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """The table as one seat sees it: text in mode "ansi", printed in mode "human", pixels [H, W, 3] in mode
        "rgb_array", which needs the extra `pictures`."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called, but render_mode is None; make the environment with render_mode='ansi'."
            )
            return None
        self._check_begun("render()")
        return rendered(self.engine, 0, self.render_seat, self.render_mode)

    def _repr_svg_(self) -> str | None:
        """The table as a picture, for notebooks; None before the first reset, where there is none."""
        return table_svg(self.engine, 0, self.render_seat) if self._begun else None

    def close(self) -> None:
        """Nothing is held open."""

    def __repr__(self) -> str:
        settings = {"render_mode": self.render_mode, "render_seat": self.render_seat}
        given = "".join(f", {name}={value!r}" for name, value in settings.items() if value is not None)
        given += "" if self.on_illegal == "raise" else f", on_illegal={self.on_illegal!r}"
        given += f", observation={self.observation!r}" if self._flat else ""
        return f"AECEnv({self.game!r}{given})"

    @one_thread
    def snapshot(self) -> npt.NDArray[Any]:
        """The table in mid-game as a one-element record array (`state`, `stream`, `actions`, ... and a checksum), fit
        for `np.save`: how the episode began, what was played since, and what came of it. Raises RuntimeError before the
        first reset and after the last action."""
        self._check_begun("snapshot()")
        batch = self.engine.batch
        if batch.seat[0] == OVER:
            raise RuntimeError("snapshot(): the episode is over; only a table in mid-game can be kept.")
        stream, (decks, start_outcome) = self._began
        kept = np.zeros(1, self._snapshot_dtype(len(decks), len(self._actions)))
        kept["game"], kept["began"], kept["actions"] = _digest(self.game), stream, self._actions
        kept["start_outcome"] = -1 if start_outcome is None else start_outcome
        kept["decks"] = np.array(decks).reshape(kept["decks"].shape)
        kept["state"], kept["stream"], kept["decisions"] = batch.raw, batch.stream, batch.decisions
        kept["rewards"] = [self._cumulative_rewards.get(agent, 0.0) for agent in self.possible_agents]
        kept["check"] = _checksum(kept)
        return kept

    @one_thread
    def restore(self, kept: npt.NDArray[Any]) -> None:
        """Go on from a `snapshot` of the same game and options, packs that are yet to be dealt included.

        The episode is played again beside this table, by the rules, and taken over where all comes out as it was kept:
        so whatever a snapshot was made into, the table is one that can be reached. Raises ValueError, before anything
        has changed, for anything else.
        """
        kept = np.array(kept) if isinstance(kept, np.ndarray) else np.zeros(0)
        names = kept.dtype.names or ()
        decks, actions = (sum(kept.dtype[name].shape[:1]) if name in names else 0 for name in ("decks", "actions"))
        if kept.shape != (1,) or kept.dtype != self._snapshot_dtype(decks, actions):
            raise ValueError(f"This is no snapshot of {self.game.id} under these options: it has another form.")
        if int(kept["check"][0]) != _checksum(kept):
            raise ValueError(f"This snapshot of {self.game.id} is damaged: its checksum does not match its contents.")
        if int(kept["game"][0]) != _digest(self.game):
            raise ValueError(
                f"This is no snapshot of {self.game!r}: it was made under other options, by another game or by another "
                "version of it."
            )
        began = int(kept["began"][0]), self._opening_of(kept)
        gathered = self._replay(*began, kept["actions"][0].tolist())
        batch, its = self.engine.batch, self._scratch.batch
        found: list[npt.NDArray[Any]] = [its.raw, its.stream, its.decisions, np.array(gathered)]
        names = ("state", "stream", "decisions", "rewards")
        if any(kept[name].tobytes() != array.tobytes() for name, array in zip(names, found, strict=True)):
            raise self._altered("what it holds to have been played does not lead to the table that it holds.")
        batch.raw[:], batch.stream[:], batch.decisions[:] = its.raw, its.stream, its.decisions
        self.engine.stacked = {row: list(decks) for row, decks in self._scratch.stacked.items()}
        self._began, self._actions = began, kept["actions"][0].tolist()
        self.engine.show_one()
        self._sit_down(dict(zip(self.possible_agents, gathered, strict=True)))

    def _altered(self, how: str) -> ValueError:
        return ValueError(f"This snapshot of {self.game.id} was altered: {how}")

    def _opening_of(self, kept: npt.NDArray[Any]) -> Opening:
        """What a snapshot says of the episode's beginning."""
        outcome, decks = int(kept["start_outcome"][0]), kept["decks"][0].tolist()
        try:
            found = read_opening(self.game, {"decks": decks, "start_outcome": None if outcome == -1 else outcome})
        except ValueError as error:
            raise self._altered(str(error)) from None
        return found or Opening()

    @functools.cached_property
    def _scratch(self) -> Engine:
        """A table beside this one."""
        return Engine(self.game, 1)

    def _replay(self, stream: int, opening: Opening, actions: list[int]) -> list[float]:
        """Play an episode on the table beside this one; gives what each seat has gained since its latest action. Raises
        ValueError where the rules do not allow it."""
        engine, batch = self._scratch, self._scratch.batch
        batch.stream[0] = stream
        engine.open_one(opening, self._deck)
        gathered = [0.0] * engine.num_seats
        for place, action in enumerate(actions):
            seat = int(batch.seat[0])
            if seat < 0 or not 0 <= action < engine.num_actions or not batch.mask[0, action]:
                raise self._altered(f"its action {place + 1}, {action}, is not legal there.")
            engine.move_one(action, self._deck)
            gathered[seat] = 0.0
            gathered = [gained + more for gained, more in zip(gathered, batch.reward[0].tolist(), strict=True)]
        if batch.seat[0] == OVER:
            raise self._altered("its episode is over; only a table in mid-game can be restored.")
        return gathered

    def _snapshot_dtype(self, decks: int, actions: int) -> np.dtype[Any]:
        """The record type of a `snapshot` of an episode with so many packs said of its beginning, and so many
        actions."""
        size, seats = self.engine.batch.raw.shape[1], self.engine.num_seats
        return np.dtype(
            [
                ("game", "u8"),
                ("began", "u8"),
                ("start_outcome", "i8"),
                ("decks", "i8", (decks, len(self._deck.cards))),
                ("actions", "i4", (actions,)),
                ("state", "u1", (size,)),
                ("stream", "u8"),
                ("decisions", "i4"),
                ("rewards", "f8", (seats,)),
                ("check", "u4"),
            ]
        )


def _digest(game: Game) -> int:
    """What a snapshot is of: the game, its version and its options."""
    said = json.dumps([game.id, game.option_values], sort_keys=True)
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:8], "little")


def _checksum(kept: npt.NDArray[Any]) -> int:
    """Of all of a snapshot but its last field, so that a damaged file is refused and not played."""
    return zlib.crc32(kept.tobytes()[: -kept.dtype["check"].itemsize])
