"""PettingZoo's AEC interface for any game.

Order and legality are checked here, not in PettingZoo's wrappers: these limit any environment to about 44,000 decisions
a second.
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

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue

from ..compile.interfaces import OVER
from ..drawing.render import RENDER_MODES, check_render_mode, rendered, table_svg
from ..engine.engine import BUSY, Engine, check_on_illegal, one_thread
from ..game.arguments import check_flags, whole
from ..game.game import Game
from ..game.reset_options import ResetOptions, read_reset_options
from ..rules import rng
from .histories import SeatHistories
from .spaces import check_observation, dict_space, vector_space
from .tables import Tables, dealt_at

_LET_PASS = ("options",)
"""PettingZoo's own `api_test` resets with `options={"options": 1}`."""
_BY_CHANCE = ResetOptions()
_OWN = ("_copies", "_rewards", "_acting", "_stream", "_ends", "_aside", "_scratch")
"""Attributes that a copy makes for itself."""
_NO_AGENT = object()
_NOBODY = "Nobody is at the table: the game is over or was never begun; call reset()."


class AECEnv(SeatHistories, Tables, pettingzoo.AECEnv[str, dict[str, Any], int]):  # type: ignore[misc, unused-ignore]
    """One table of a game as a PettingZoo AEC environment; agents are `player_0`, `player_1`, ...

    An observation is `{"observation": flat vector [O], "action_mask": int8 [A]}`; the mask is all zero for an agent who
    is not to act. With `observation="flat"` it is only the vector, for wrappers that work on arrays; the mask is in
    `infos[agent]["action_mask"]` either way. An illegal action raises IllegalAction and changes nothing, unless
    `on_illegal` says otherwise. After a step `info["ended"]` says why the episode has ended: "terminated", "truncated"
    or "illegal_action", and "" where it has not. The environment can be deep-copied and pickled in mid-game. Only one
    thread at a time may use it: a call during another thread's call raises RuntimeError at once.
    """

    def __init__(
        self,
        game: Game,
        *,
        render_mode: str | None = None,
        render_seat: int | None = None,
        on_illegal: str = "raise",
        observation: str = "dict",
        events: bool = False,
    ) -> None:
        """`render_mode` is None or one of `render.RENDER_MODES`; `render_seat`: whose view, by default the actor's.

        `on_illegal` says what an illegal action does: "raise"; "terminate" (that seat gets the lower bound of
        `reward_range`, the others 0, and the episode is over); "random" (a random legal action is played instead,
        without using the table's random stream). `info["illegal_action"]` then has the message that "raise" would have:
        every agent's if it ended the episode, otherwise that agent's at its next turn.

        `observation` is "dict" (`{"observation", "action_mask"}`) or "flat" (the vector). With `events` the
        environment keeps those of the episode: see `events` and `information_state_tensor`.
        """
        super().__init__()
        check_render_mode(render_mode)
        check_on_illegal(on_illegal)
        check_observation(observation)
        check_flags(events=events)
        self.engine = Engine(game, 1, history=bool(events))
        if on_illegal == "raise":
            self.advise_other_ways()
        seat = whole(render_seat)
        if render_seat is not None and (seat is None or not 0 <= seat < self.engine.num_seats):
            last = self.engine.num_seats - 1
            raise InvalidValue(
                f"render_seat is {render_seat!r}; {game.name} has seats 0..{last}, or None for the seat to act."
            )
        self.game = game
        self.render_mode, self.render_seat, self.on_illegal = render_mode, seat, on_illegal
        self.observation, self._flat = observation, observation == "flat"
        name = game.id.replace("-v", "_v")
        self.metadata = {"name": name, "render_modes": list(RENDER_MODES), "is_parallelizable": False, "render_fps": 1}
        self.possible_agents = [f"player_{seat}" for seat in range(self.engine.num_seats)]
        self.agents: list[str] = []
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._deck = self.engine.fresh_deck()
        self._no_mask = np.zeros(game.num_actions, np.int8)
        self._no_mask.flags.writeable = False
        self._look()
        self._zeros = dict.fromkeys(self.possible_agents, 0.0)
        self._all = [dict.fromkeys(self.possible_agents, flag) for flag in (False, True)]
        self._begun = False
        self._tells = game.type.open_info is not None
        self._open: dict[str, Any] = {}
        """The entries of everybody's `info` from the game."""
        self._idle: dict[str, Any] = {"action_mask": self._no_mask, "ended": ""}
        """To be copied: the `info` after a step of who is not to act. Tianshou takes a key that comes at the end only
        for missing numbers; TorchRL's wrapper reads the first infos, those of a reset, and takes no text there."""
        self._turn: object = _NO_AGENT
        """The agent to act, the same object as in `possible_agents`."""
        self._dealt = dealt_at(self)
        self._refused: dict[str, str] = {}
        """The message for an illegal action that was replaced by another one, until that agent's next action."""
        self._began = 0, ResetOptions()
        """The stream with which the episode began, and its reset options."""
        self._actions: list[int] = []
        """The actions played in it."""
        self.engine.batch.stream[0] = np.random.SeedSequence().generate_state(1, np.uint64)[0]

    def _look(self) -> None:
        """Keep what reads the engine's arrays of the one table: finding it again costs a tenth of a step."""
        batch = self.engine.batch
        self._copies, self._rewards = (batch.flat[0].copy, batch.mask[0].copy), batch.reward[0].data
        """They return copies of observation and mask; the rewards, as Python reads them in half the time [N]."""
        self._acting = batch.seat.data
        """The seat to act, in the same way [1]; the table's stream; whether it terminated and was truncated."""
        self._stream, self._ends = batch.stream.data, (batch.terminated.data, batch.truncated.data)
        flat, seat = np.zeros_like(batch.flat), np.zeros(1, np.int64)
        shown = np.zeros(1, np.int64), seat, self.game.records(flat), flat
        self._aside = seat.data, shown, (flat[0].copy, self._no_mask.copy)
        """Where another seat's view is written: the seat, what `observe_into` takes, what copies view and mask."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _OWN}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._look()

    @functools.cached_property
    def _spaces(self) -> tuple[gymnasium.spaces.Space[Any], gymnasium.spaces.Discrete[Any]]:
        return (vector_space if self._flat else dict_space)(self.game), gymnasium.spaces.Discrete(self.game.num_actions)

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """Return the same space object for every agent. Raises ValueError for an unknown agent."""
        if agent not in self.possible_agents:
            raise self._nobody(agent)
        return self._spaces[0]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete[Any]:
        """Return the same space object for every agent. Raises ValueError for an unknown agent."""
        if agent not in self.possible_agents:
            raise self._nobody(agent)
        return self._spaces[1]

    def _nobody(self, agent: Any) -> ValueError:
        return InvalidValue(f"There is no agent {agent!r}; the agents are {', '.join(self.possible_agents)}.")

    def _check_dealt(self, rows: npt.NDArray[np.int64]) -> None:
        self._check_begun("The position")

    def _check_begun(self, what: str) -> None:
        if not self._begun:
            raise InvalidCall(f"{what}: the table has not been dealt; call reset() first.")

    @one_thread
    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin a new episode. Without a seed the table's own random stream continues.

        `options` may hold `decks`, packs to be dealt first (each a list of card names or numbers from the top; the
        other cards follow in ascending order), and `start_outcome`, what chance decides before the deal. Afterwards
        packs come from the random stream again. Raises TypeError or ValueError, before anything has changed.
        """
        opening = read_reset_options(self.game, options, also=_LET_PASS)
        if seed is not None:
            number = whole(seed)
            if number is None or number < 0:
                raise InvalidValue(f"The seed is {seed!r}; it must be a whole number of 0 or more.")
            self.engine.batch.stream[0] = rng.stream_of(number)
        self._began, self._actions = (self._stream[0], opening or _BY_CHANCE), []
        self.engine.open_one(opening, self._deck)
        self._sit_down(self._zeros.copy())

    def _sit_down(self, gathered: dict[str, float]) -> None:
        """Begin the turn of the seat to act, with every agent at the table."""
        self._begun = True
        self._refused.clear()
        self.agents = self.possible_agents.copy()
        self.rewards, self._paid = self._zeros.copy(), False
        self._cumulative_rewards = gathered
        self.terminations, self.truncations = self._all[False].copy(), self._all[False].copy()
        if self._tells:
            self._look_about()
        info = {"action_mask": self._no_mask, **self._open}
        self.infos: dict[str, dict[str, Any]] = {}
        for agent in self.agents:
            self.infos[agent] = info.copy()
        self._select(self._acting[0], info)

    def _select(self, seat: int, info: dict[str, Any]) -> None:
        """Begin a seat's turn; `info` becomes its own, with the mask."""
        agent = self.agent_selection = self._turn = self.possible_agents[seat]
        self.infos[agent] = info
        info["action_mask"] = self._copies[1]()
        if self._refused and agent in self._refused:
            info["illegal_action"] = self._refused[agent]

    def _look_about(self) -> None:
        """Update the game's entries of everybody's `info`, until the next deal."""
        self._open, self._dealt = self.game.open_info(self.engine.batch.state[0]), dealt_at(self)
        self._idle |= self._open

    @one_thread
    def observe(self, agent: str) -> Any:
        """Return what an agent may know now, as new arrays: a dictionary, or the vector. Raises ValueError for an
        unknown agent, and RuntimeError before the first reset."""
        return self._shown(agent)

    def _shown(self, agent: str) -> Any:
        vector, mask = self._copies
        if agent is not self._turn:
            try:
                seat = self._seat_of[agent]
            except (KeyError, TypeError):
                raise self._nobody(agent) from None
            if seat != self._acting[0]:
                self._check_begun("observe()")
                place, shown, (vector, mask) = self._aside
                place[0] = seat
                self.engine.observe_into(*shown)
        return vector() if self._flat else {"observation": vector(), "action_mask": mask()}

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, reward since its latest action, terminated, truncated and info of the agent to act.
        Raises RuntimeError where there is none."""
        if not self.agents:
            raise InvalidCall(_NOBODY)
        lock = self.engine.lock
        if not lock.acquire(False):
            raise InvalidCall(BUSY)
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
        ValueError) with the legal actions in its message; nothing has changed then.
        """
        engine = self.engine
        lock = engine.lock
        if not lock.acquire(False):
            raise InvalidCall(BUSY)
        try:
            if not self.agents:
                raise InvalidCall(_NOBODY)
            agent = self.agent_selection
            if self.terminations[agent] or self.truncations[agent]:
                if action is not None:
                    raise engine.refuse(0, action)
                self._leave(agent)
                return
            number = action if type(action) is int else whole(action)
            if number is None:
                raise InvalidType(
                    f"The action is {action!r}; it must be a whole number of 0..{engine.num_actions - 1}."
                )
            refused, paid, bound = None, -1, engine.bound_one
            if 0 <= number < engine.num_actions:
                paid = engine.play_one(number, self._deck) if bound is None else bound[0](number)
            if paid >= 0:
                self._actions.append(number)
            else:
                refused = self._illegal(number)
            if self._refused:
                self._refused.pop(agent, None)
            if refused is not None and self.on_illegal == "random":
                self._refused[agent] = refused
            gathered = self._cumulative_rewards
            gathered[agent] = 0.0
            if paid:
                self.rewards, self._paid = self._zeros.copy(), True
                for name, place in self._seat_of.items():
                    self.rewards[name] = value = self._rewards[place]
                    gathered[name] += value
            elif self._paid:
                self.rewards, self._paid = self._zeros.copy(), False
            seat: int = self._acting[0]
            over = seat == OVER
            if self._tells and (over or dealt_at(self) != self._dealt):
                self._look_about()
                for others in self.infos.values():
                    others.update(self._open)
            if over:
                ended, cut = self._ends[0][0], self._ends[1][0]
                self.terminations, self.truncations = self._all[ended].copy(), self._all[cut].copy()
                forfeited = refused is not None and self.on_illegal == "terminate"
                why = "illegal_action" if forfeited else "terminated" if ended else "truncated"
                informs = self.game.type.info is not None and not forfeited
                for place, name in enumerate(self.possible_agents):
                    info = self._idle.copy()
                    if informs:
                        info.update(self.game.info(engine.batch.state[0], place))
                    if forfeited or name in self._refused:
                        info["illegal_action"] = self._refused.get(name, refused)
                    info["ended"] = why
                    self.infos[name] = info
                self.agent_selection, self._turn = self.agents[0], _NO_AGENT
            else:
                self.infos[agent] = self._idle.copy()
                self._select(seat, self._idle.copy())
            if self.render_mode == "human":
                self.render()
        finally:
            lock.release()

    def _leave(self, agent: str) -> None:
        """Let an agent whose game is over leave the table; the next one is selected, and after the last the first."""
        for kept in (self.terminations, self.truncations, self._cumulative_rewards, self.infos):
            del kept[agent]
        self.agents.remove(agent)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.agent_selection = self.agents[0] if self.agents else self.possible_agents[0]

    def _illegal(self, number: int) -> str:
        """Handle an illegal action; return its message if it is not raised."""
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
    def refresh(self) -> None:
        """Show the table as its state is, after the caller has written to `arrays`; it has to be in play."""
        self.engine.show_one()
        self._select(self._acting[0], self._open.copy())

    @one_thread
    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Return the table as one seat sees it: text in mode "ansi", printed in mode "human", pixels [H, W, 3] in mode
        "rgb_array", which needs the extra `pictures`."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called, but render_mode is None; make the environment with render_mode='ansi'."
            )
            return None
        self._check_begun("render()")
        return rendered(self, 0, self.render_seat, self.render_mode)

    def _repr_svg_(self) -> str | None:
        """The table as a picture, for notebooks; None before the first reset."""
        return table_svg(self, 0, self.render_seat) if self._begun else None

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def __repr__(self) -> str:
        settings = {"render_mode": self.render_mode, "render_seat": self.render_seat}
        given = "".join(f", {name}={value!r}" for name, value in settings.items() if value is not None)
        given += "" if self.on_illegal == "raise" else f", on_illegal={self.on_illegal!r}"
        given += f", observation={self.observation!r}" if self._flat else ""
        given += "" if self.engine.history is None else ", events=True"
        return f"AECEnv({self.game!r}{given})"

    @one_thread
    def snapshot(self) -> npt.NDArray[Any]:
        """Return the table in mid-game as a one-element record array (`state`, `stream`, `actions`, ... and a checksum)
        for `np.save`: how the episode began, the actions since, and the result. Raises RuntimeError before the first
        reset and after the last action."""
        self._check_begun("snapshot()")
        batch = self.engine.batch
        if batch.seat[0] == OVER:
            raise InvalidCall("snapshot(): the episode is over; only a table in mid-game can be kept.")
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
        """Continue from a `snapshot` of the same game and options, including given packs that are yet to be dealt.

        The episode is played again on a second table, by the rules, and is used only if the result equals the snapshot:
        so even a manipulated snapshot leads to a reachable table. Raises ValueError for anything else, before anything
        has changed.
        """
        kept = np.array(kept) if isinstance(kept, np.ndarray) else np.zeros(0)
        names = kept.dtype.names or ()
        decks, actions = (sum(kept.dtype[name].shape[:1]) if name in names else 0 for name in ("decks", "actions"))
        if kept.shape != (1,) or kept.dtype != self._snapshot_dtype(decks, actions):
            raise InvalidValue(f"This is no snapshot of {self.game.id} under these options: it has another form.")
        if int(kept["check"][0]) != _checksum(kept):
            raise InvalidValue(f"This snapshot of {self.game.id} is damaged: its checksum does not match its contents.")
        if int(kept["game"][0]) != _digest(self.game):
            raise InvalidValue(
                f"This is no snapshot of {self.game!r}: it was made under other options, by another game or by another "
                "version of it."
            )
        began = int(kept["began"][0]), self._reset_options_of(kept)
        gathered = self._replay(*began, kept["actions"][0].tolist())
        batch, its = self.engine.batch, self._scratch.batch
        found: list[npt.NDArray[Any]] = [its.raw, its.stream, its.decisions, np.array(gathered)]
        names = ("state", "stream", "decisions", "rewards")
        if any(kept[name].tobytes() != array.tobytes() for name, array in zip(names, found, strict=True)):
            raise self._altered("what it holds to have been played does not lead to the table that it holds.")
        batch.raw[:], batch.stream[:] = its.raw, its.stream
        batch.decisions[:], batch.own_decisions[:] = its.decisions, its.own_decisions
        self.engine.stacked = {row: list(decks) for row, decks in self._scratch.stacked.items()}
        self.engine.bound_one = None
        self.engine.use_history(self._scratch.history and self._scratch.history.copied())
        self._began, self._actions = began, kept["actions"][0].tolist()
        self.engine.show_one()
        self._sit_down(dict(zip(self.possible_agents, gathered, strict=True)))

    def _altered(self, how: str) -> ValueError:
        return InvalidValue(f"This snapshot of {self.game.id} was altered: {how}")

    def _reset_options_of(self, kept: npt.NDArray[Any]) -> ResetOptions:
        """The reset options in a snapshot."""
        outcome, decks = int(kept["start_outcome"][0]), kept["decks"][0].tolist()
        try:
            found = read_reset_options(self.game, {"decks": decks, "start_outcome": None if outcome == -1 else outcome})
        except ValueError as error:
            raise self._altered(str(error)) from None
        return found or ResetOptions()

    @functools.cached_property
    def _scratch(self) -> Engine:
        """A second table."""
        return Engine(self.game, 1, history=self.engine.history is not None)

    def _replay(self, stream: int, opening: ResetOptions, actions: list[int]) -> list[float]:
        """Play an episode on the second table; return what each seat has gained since its latest action. Raises
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
        """The record type of a `snapshot` of an episode with that many given packs and actions."""
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
    """A digest of the game of a snapshot, its version and its options."""
    said = json.dumps([game.id, game.option_values], sort_keys=True)
    return int.from_bytes(hashlib.sha256(said.encode()).digest()[:8], "little")


def _checksum(kept: npt.NDArray[Any]) -> int:
    """The checksum of all fields of a snapshot but the last, so that a damaged file is refused."""
    return zlib.crc32(kept.tobytes()[: -kept.dtype["check"].itemsize])
