"""One seat as a Gymnasium environment, or many of them in one batch; agents play the other seats inside the same call.

    env = gymnasium.make("backalley/PokerDuel-v0", opponent="bot")
    envs = gymnasium.make_vec("backalley/PokerDuel-v0", num_envs=256, opponent="bot")

The observation is the flat vector, or with `observation="dict"` vector and action mask; the mask is always in
`info["action_mask"]` and from `env.action_masks()`, where `sb3_contrib.MaskablePPO` looks for it.
`action_space.sample()` draws a legal action, so that random loops work. The common space of environments that Gymnasium
itself puts side by side (`SyncVectorEnv`) needs the masks: `action_space.sample(mask=tuple(infos["action_mask"]))`.

Learners without action masks need `on_illegal="terminate"` or `"random"`. With the default, "raise", Gymnasium's own
`check_env` cannot pass: it draws an action before the deal, which may not be legal afterwards.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue
from backalley.envs.core.api.spaces import LegalDiscrete, LegalMultiDiscrete
from backalley.envs.core.api.tables import dealt_at, one_thread
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.drawing.render import RENDER_MODES, check_render_mode, rendered, table_svg
from backalley.envs.core.game.arguments import check_flags, whole
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.reset_options import read_reset_options
from backalley.envs.core.rules.options import OptionError, as_keywords, unexpected_keyword

from .single_agent import Opponent, SeatTables


class _Seated:
    """What both environments below have: tables with a seat of the caller's."""

    _seats: SeatTables

    @property
    def tables(self) -> BatchEnv:
        """The tables that are played, as a batch."""
        return self._seats.tables

    @property
    def lock(self) -> Any:
        """Those tables' lock; see `one_thread`."""
        return self._seats.tables.lock


class GymnasiumEnv(_Seated, gymnasium.Env[Any, np.int64]):
    """One seat of a game. A step plays the caller's action and the other seats' answers; the reward is the seat's gain
    until it acts again.

    An illegal action raises IllegalAction (a ValueError) and changes nothing, unless `on_illegal` says otherwise.
    `info["ended"]` says why the episode has ended: "terminated", "truncated" or "illegal_action", and before that "".
    Its mask is all ones when it has.
    """

    metadata = {  # noqa: RUF012 (Gymnasium's own form)
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        "autoreset_mode": AutoresetMode.DISABLED,
    }

    def __init__(
        self,
        game: Game,
        *,
        seat: int | str = 0,
        opponent: Opponent = "bot",
        render_mode: str | None = None,
        on_illegal: str = "raise",
        observation: str = "flat",
        dtype: Any = None,
    ) -> None:
        """`seat` is the caller's, or "random"; `opponent` an agent or its name, one for all other seats or one for
        each, clockwise from the caller's left.

        `on_illegal` says what an illegal action does: "raise"; "terminate" (the caller gets the lower bound of
        `reward_range`, and the episode is over); "random" (a random legal action is played instead).
        `info["illegal_action"]` then has the message that "raise" would have. `observation` is "flat" (the vector) or
        "dict" (`{"observation", "action_mask"}`); `dtype` another type of its numbers, such as "float32".
        """
        check_render_mode(render_mode)
        self._seats = SeatTables(game, 1, seat, opponent, on_illegal=on_illegal, observation=observation, dtype=dtype)
        self.game, self.render_mode = game, render_mode
        self.observation_space = self._seats.space
        self.action_space = LegalDiscrete(game.num_actions)
        self._row = np.zeros(1, np.int64)
        self._begun = False
        self._open: tuple[Any, dict[str, Any]] = None, {}
        """The deals so far (`Tables.deals`), and the game's entries of `info` since."""

    @one_thread
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode, and play up to this seat's first decision.

        `options` may hold `decks`, packs to be dealt first (each a list of card names or numbers from the top), and
        `start_outcome`, what chance decides before the deal. Raises TypeError or ValueError.
        """
        read_reset_options(self.game, options)  # refused before the seed is set
        super().reset(seed=seed)
        self._seats.seed(seed)
        self._seats.refused = {}
        self._seats.begin_deciding(self._row, options)
        self._begun, self._open = True, (None, {})
        return self._shown(), self._info()

    def _shown(self) -> Any:
        shown = self._seats.observe()
        return {name: array[0] for name, array in shown.items()} if isinstance(shown, dict) else shown[0]

    def _info(self) -> dict[str, Any]:
        seats, mask = self._seats, self._seats.masks()[0]
        self.action_space.legal = mask.copy()  # type: ignore[attr-defined]
        info: dict[str, Any] = {"action_mask": mask, "seat": seats.seat[0], "ended": ""}
        over = seats.tables.arrays.seat[0] < 0
        if self.game.type.open_info is not None:
            deals = dealt_at(seats.tables)
            if over or deals != self._open[0]:
                self._open = deals, self.game.open_info(seats.tables.arrays.state[0])
            info.update(self._open[1])
        if over:
            info["ended"] = seats.ended(0)
        if over or seats.refused:
            info.update(seats.words(0) if over else {"illegal_action": seats.refused[0]})
        return info

    @one_thread
    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return which actions are legal now [A], for MaskablePPO; all ones when the episode has ended."""
        legal: npt.NDArray[np.bool_] = self._seats.masks()[0].astype(bool)
        return legal

    @one_thread
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated, truncated, info. Raises TypeError for anything but one whole number,
        RuntimeError before the first reset, and IllegalAction."""
        self._check_begun("step()")
        number = whole(action)
        if number is None:
            raise InvalidType(f"The action is {action!r}; it must be a whole number of 0..{self.game.num_actions - 1}.")
        self._seats.step([number])
        time_step = self._seats.tables.time_step
        reward = float(self._seats.collect()[0])
        return self._shown(), reward, bool(time_step.terminated[0]), bool(time_step.truncated[0]), self._info()

    @one_thread
    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Return the table from this seat's view: text in mode "ansi", printed in mode "human", pixels [H, W, 3] in
        mode "rgb_array", which needs the extra `pictures`."""
        if self.render_mode is None:
            return None
        self._check_begun("render()")
        return rendered(self._seats.tables, 0, int(self._seats.seat[0]), self.render_mode)

    def _repr_svg_(self) -> str | None:
        """The table from this seat's view as a picture, for notebooks; None before the first reset."""
        return table_svg(self._seats.tables, 0, int(self._seats.seat[0])) if self._begun else None

    def _check_begun(self, what: str) -> None:
        if not self._begun:
            raise InvalidCall(f"{what}: the table has not been dealt; call reset() first.")

    def __repr__(self) -> str:
        mode = "" if self.render_mode is None else f", render_mode={self.render_mode!r}"
        return f"GymnasiumEnv({self.game!r}{self._seats.settings()}{mode})"

    __str__ = __repr__


class GymnasiumVectorEnv(_Seated, VectorEnv[Any, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """B copies of `GymnasiumEnv` in one call. Finished ones begin a new episode in the same step; `infos["final_obs"]`
    and `infos["final_info"]` have their last observation and info. With `autoreset=False`, which is Gymnasium's
    `AutoresetMode.DISABLED`, they stay finished until `reset(options={"reset_mask": which})`.

    Row i with seed `s` plays as `GymnasiumEnv` with seed `s + i`. `action_space.sample()` draws legal actions.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 (Gymnasium's own form)
    autoreset_mode = AutoresetMode.SAME_STEP

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        seat: int | str = 0,
        opponent: Opponent = "bot",
        num_threads: int = 1,
        on_illegal: str = "raise",
        observation: str = "flat",
        dtype: Any = None,
        autoreset: bool = True,
    ) -> None:
        """Arguments as in `GymnasiumEnv`; `num_threads` and `autoreset` as in `BatchEnv`."""
        check_flags(autoreset=autoreset)
        self._seats = SeatTables(
            game,
            num_envs,
            seat,
            opponent,
            num_threads=num_threads,
            on_illegal=on_illegal,
            observation=observation,
            dtype=dtype,
        )
        self.game, self.num_envs = game, self._seats.tables.num_envs
        self.single_observation_space = self._seats.space
        self.single_action_space = LegalDiscrete(game.num_actions)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = LegalMultiDiscrete(np.full(self.num_envs, game.num_actions))
        self.autoreset_mode = AutoresetMode.SAME_STEP if autoreset else AutoresetMode.DISABLED
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self._all = np.arange(self.num_envs)
        self._begun = False

    @one_thread
    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes on every table; `options` as in `GymnasiumEnv.reset`, the same for each.

        They may also hold Gymnasium's `reset_mask`, booleans [B]: only the tables where it is True begin a new episode,
        and only they are seeded. Raises TypeError or ValueError, before anything has changed.
        """
        rows, opening = self._all, options
        if isinstance(options, Mapping) and "reset_mask" in options:
            rows = self._masked(options["reset_mask"])
            opening = {name: value for name, value in options.items() if name != "reset_mask"}
            first = whole(seed)
            if first is not None:
                seed = [first + row for row in range(self.num_envs)]
            if isinstance(seed, (list, tuple)) and len(seed) == self.num_envs:
                seed = [one if begins else None for one, begins in zip(seed, options["reset_mask"], strict=True)]
        read_reset_options(self.game, opening)
        self._seats.seed(seed)
        self._seats.refused = {}
        self._seats.begin_deciding(rows, opening)
        self._begun = True
        return self._seats.observe(), self._info()

    def _masked(self, given: Any) -> npt.NDArray[np.int64]:
        """The rows of a `reset_mask`."""
        if not isinstance(given, np.ndarray) or given.dtype != np.bool_ or given.shape != (self.num_envs,):
            raise InvalidValue(
                f"reset_mask is {given!r}; it takes an array of {self.num_envs} booleans, one for each table."
            )
        if not given.any():
            raise InvalidValue("reset_mask is False everywhere; it takes at least one table to begin again.")
        if not (self._begun or given.all()):
            raise InvalidCall("reset(): the tables have not been dealt; reset all of them first, without reset_mask.")
        return np.flatnonzero(given)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"action_mask": self._seats.masks(), "seat": self._seats.seat.copy()}
        self.action_space.legal = info["action_mask"].copy()  # type: ignore[attr-defined]
        if self.autoreset_mode is AutoresetMode.DISABLED and self._seats.over.any():
            info |= self._ends(np.flatnonzero(self._seats.over))
        if self._seats.refused:
            info |= self._reported("illegal_action", self._seats.refused)
        return info

    def _ends(self, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Why and how the episodes of `rows` ended."""
        info = self._reported("ended", {row: self._seats.ended(row) for row in rows.tolist()})
        state = self._seats.tables.arrays.state
        words = {row: self.game.open_info(state[row]) | self._seats.words(row) for row in rows.tolist()}
        for name in sorted({name for said in words.values() for name in said}):
            info |= self._reported(name, {row: said[name] for row, said in words.items() if name in said})
        return info

    def _reported(self, name: str, by_row: Mapping[int, Any]) -> dict[str, Any]:
        """What some rows report, in the form of Gymnasium's vector environments: the values, and which rows."""
        kinds = {type(value) for value in by_row.values()}
        number = kinds.pop() if len(kinds) == 1 and kinds <= {bool, int, float} else None
        values = np.full(self.num_envs, None, object) if number is None else np.zeros(self.num_envs, number)
        which = np.zeros(self.num_envs, np.bool_)
        for row, value in by_row.items():
            values[row], which[row] = value, True
        return {name: values, f"_{name}": which}

    @one_thread
    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return which actions are legal now [B, A]."""
        legal: npt.NDArray[np.bool_] = self._seats.masks().astype(bool)
        return legal

    @one_thread
    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """Return observations, rewards, terminated, truncated and infos, each of B rows."""
        if not self._begun:
            raise InvalidCall("step(): the tables have not been dealt; call reset() first.")
        self._seats.step(actions)
        time_step = self._seats.tables.time_step
        over = self._seats.over
        reward, terminated, truncated = self._seats.collect(), time_step.terminated & over, time_step.truncated & over
        final: dict[str, Any] = {}
        if over.any() and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = self._final(over)
            self._seats.begin_deciding(np.flatnonzero(over))
        return self._seats.observe(), reward, terminated, truncated, self._info() | final

    def _final(self, over: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """The last observation and info of the finished episodes, before their tables begin new ones."""
        rows = np.flatnonzero(over)
        shown = self._seats.observe(rows)
        if isinstance(shown, dict):
            each = [{name: array[k] for name, array in shown.items()} for k in range(len(rows))]
        else:
            each = list(shown)
        info: dict[str, Any] = {"action_mask": np.zeros((self.num_envs, self._seats.tables.num_actions), np.int8)}
        info |= {"seat": np.zeros(self.num_envs, np.int64)}
        info["action_mask"][rows], info["seat"][rows] = 1, self._seats.seat[rows]
        info |= {f"_{name}": over.copy() for name in list(info)}
        info |= self._ends(rows)
        final = {"final_info": info, "_final_info": over.copy()}
        return self._reported("final_obs", dict(zip(rows.tolist(), each, strict=True))) | final

    def close_extras(self, **kwargs: Any) -> None:
        """End the worker threads."""
        self._seats.close()

    def __repr__(self) -> str:
        given = "" if self.autoreset_mode is AutoresetMode.SAME_STEP else ", autoreset=False"
        return f"GymnasiumVectorEnv({self.game!r}, {self.num_envs}{self._seats.settings()}{given})"

    __str__ = __repr__


def make_gymnasium(game: str | Game | GameType, **given: Any) -> GymnasiumEnv:
    """Gymnasium's entry point for one table: keywords of `GymnasiumEnv`; every other is an option of the game."""
    settings = _settings_in(given, GymnasiumEnv)
    with as_keywords():
        found = game_of(game, **given)
    return GymnasiumEnv(found, **settings)


def make_gymnasium_vec(game: str | Game | GameType, num_envs: int = 1, **given: Any) -> GymnasiumVectorEnv:
    """Gymnasium's entry point for a batch, likewise."""
    render_mode = given.pop("render_mode", None)
    if render_mode is not None:
        raise OptionError(
            f"{unexpected_keyword('render_mode')}: a batch of tables has none, and it is {render_mode!r}; make one "
            "environment to draw it."
        )
    settings = _settings_in(given, GymnasiumVectorEnv)
    with as_keywords():
        found = game_of(game, **given)
    return GymnasiumVectorEnv(found, num_envs, **settings)


def _settings_in(given: dict[str, Any], env: type) -> dict[str, Any]:
    """Take the keywords of an environment out of all that was given."""
    return {name: given.pop(name) for name in given.keys() & inspect.signature(env).parameters.keys()}
