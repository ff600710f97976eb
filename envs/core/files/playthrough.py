"""Recorded whole games: options, packs, actions and everything that was shown, as JSON that a person can read.

    backalley dev playthrough poker_duel --seed 3
    backalley replay FILE

A playthrough is replayed through the AEC environment from its packs alone, so it does not depend on the random streams.
A change of rules that alters one needs a new version of the game.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from backalley.console.errors import InvalidValue

from ..api.aec import AECEnv
from ..compile.interfaces import OVER
from ..engine.batch_kernels import shuffle_deck
from ..game.catalogue import game_names, register_game
from ..game.game import Game
from ..rules import rng
from . import durable, gate, reading

FORMAT = "backalley playthrough 1"


SHAPE = {
    "format": gate.OneOf([FORMAT]),
    **gate.OF_A_GAME,
    "start_outcome": gate.Whole(0, 10_000),
    "decks": gate.ListOf(gate.Text(10_000)),
    "moves": gate.ListOf(gate.Text(1000)),
    "shown": gate.ListOf(gate.Text(100)),
    "returns": gate.ListOf(gate.Number(), 1000),
}
"""What a file holds (`gate.py`)."""


class PlaythroughError(InvalidValue):
    """A playthrough file that cannot be read, or that the rules no longer reproduce."""


def _digest(env: AECEnv) -> str:
    """A digest of what every seat is shown now, in eight characters of SHA-256: mask, rewards and each seat's
    observation."""
    batch = env.engine.batch
    seats = np.arange(env.engine.num_seats)
    shown = env.engine.observe(np.zeros_like(seats), seats)
    parts = (batch.mask[0].tobytes(), np.round(batch.reward[0].astype(np.float64), 6).tobytes(), shown.tobytes())
    return hashlib.sha256(b"".join(parts)).hexdigest()[:8]


class Recording:
    """An episode that is being recorded, with its packs.

    With the seed alone it plays as an environment with that seed."""

    def __init__(self, game: Game, seed: int, start_outcome: int | None = None) -> None:
        self.env = AECEnv(game)
        engine = self.env.engine
        engine.batch.stream[0] = rng.stream_of(seed)
        self._start_outcome = engine.draw_start_outcome() if start_outcome is None else start_outcome
        self._stream = engine.batch.stream.item(0)
        self.env.reset(options={"start_outcome": self._start_outcome})
        self._moves, self._shown, self._returns = list[str](), [_digest(self.env)], np.zeros(game.num_seats)

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return int(self.env.engine.batch.seat[0]) == OVER

    def play(self, action: int) -> None:
        """Play one legal action of the seat to act."""
        self._moves.append(f"{int(self.env.engine.batch.seat[0])}: {self.env.game.action_str(action)}")
        self.env.step(action)
        self._returns += self.env.engine.batch.reward[0]
        self._shown.append(_digest(self.env))

    def _dealt(self) -> Iterator[str]:
        """The packs that chance has drawn: it draws nothing else from its stream."""
        game, deck, stream = self.env.game, self.env.engine.fresh_deck(), np.uint64(self._stream)
        while stream != self.env.engine.batch.stream[0]:
            stream = np.uint64(shuffle_deck(deck, stream))  # compiled, it returns an int
            yield " ".join(game.card_name(game.pack[place]) for place in deck.cards[: deck.drawn].tolist())

    def playthrough(self) -> dict[str, Any]:
        """Return the recording in the form of a file."""
        game = self.env.game
        return {
            "format": FORMAT,
            "game": game.name,
            "version": game.version,
            "options": game.changed_options,
            "start_outcome": self._start_outcome,
            "decks": list(self._dealt()),
            "moves": self._moves,
            "shown": self._shown,
            "returns": np.round(self._returns, 6).tolist(),
        }


def recorded(game: Game, seed: int, actions: Iterable[int]) -> dict[str, Any]:
    """Return the playthrough of these actions in an environment with that seed."""
    recording = Recording(game, seed)
    for action in actions:
        recording.play(action)
    return recording.playthrough()


def record(game: Game, seed: int, bot: str | None = None) -> dict[str, Any]:
    """Play one episode with seed `seed`, every seat random or the named bot, and return it as a playthrough."""
    outcomes = game.num_start_outcomes
    recording = Recording(game, seed, int(np.random.default_rng(seed).integers(outcomes)))
    chooser, batch = np.random.default_rng([seed, 1]), recording.env.engine.batch
    act = game.bots[bot].act if bot else None
    while not recording.over:
        mask, key = batch.mask[0], np.uint64(chooser.integers(2**63))
        recording.play(
            int(chooser.choice(np.flatnonzero(mask)))
            if act is None
            else int(act(game.options, batch.observation[0], mask, key))
        )
    return recording.playthrough()


def save(path: Path, playthrough: dict[str, Any]) -> None:
    """Write a playthrough durably."""
    durable.write_file(path, (json.dumps(playthrough, indent=1) + "\n").encode())


def load(path: Path) -> dict[str, Any]:
    """Return a playthrough from its file. Raises PlaythroughError."""
    try:
        found = reading.read_json(path)
    except OSError as error:
        raise PlaythroughError(f"{path} cannot be read as a playthrough: {error.strerror}.") from None
    except ValueError as error:
        raise PlaythroughError(f"{path} cannot be read as a playthrough: {error}.") from None
    return checked(str(path), found)


def checked(name: str, found: Any) -> dict[str, Any]:
    """Return `found`, the contents of a JSON text that messages call `name`, as a playthrough. Raises
    PlaythroughError."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise PlaythroughError(f"{name} is no playthrough; its first entry would be {FORMAT!r}.")
    try:
        gate.pass_gate(found, SHAPE)
    except InvalidValue as error:
        raise PlaythroughError(f"{name} is damaged: {error}. Record it again.") from None
    if len(found["shown"]) != len(found["moves"]) + 1:
        moves, shown = len(found["moves"]), len(found["shown"])
        raise PlaythroughError(f"{name} is damaged: {moves} moves show {moves + 1} tables, and it has {shown}.")
    return found


def actions_of(name: str, kept: dict[str, Any]) -> tuple[Game, list[int]]:
    """Return the game of a playthrough that messages call `name`, and its actions in order, each of them played and
    compared with what was recorded. Raises PlaythroughError as `replay` does."""
    (env, *_), *played = _played(name, kept)
    return env.game, [action for _, _, action in played]


def opening_of(kept: dict[str, Any]) -> dict[str, Any]:
    """Return the reset options with which an environment deals a playthrough's cards."""
    return {"decks": [deck.split() for deck in kept["decks"]], "start_outcome": kept["start_outcome"]}


def replay(path: Path) -> Iterator[str]:
    """Play a file through the AEC environment and yield the table after every move, as text that shows every card.

    Raises PlaythroughError where a move is not legal, or anything shown or won differs from what was recorded.
    """
    kept = load(path)
    returns = np.zeros(len(kept["returns"]))
    for number, (env, seat, action) in enumerate(_played(path, kept)):
        game, table = env.game, env.game.table_str(env.engine.batch.state[0], None)
        returns += env.engine.batch.reward[0]
        yield f"{number}. {game.seat_name(seat)}: {game.action_str(action)}\n{table}" if number else table
    if env.engine.batch.seat[0] != OVER:
        raise PlaythroughError(f"{path} ends after {len(kept['moves'])} moves, before the game is over.")
    if not np.allclose(returns, kept["returns"], atol=1e-5):
        raise PlaythroughError(f"{path}: the returns are {returns.tolist()}, and {kept['returns']} were recorded.")
    yield "Returns: " + ", ".join(f"{game.seat_name(seat)} {value:g}" for seat, value in enumerate(returns))


def positions(path: Path) -> Iterator[tuple[AECEnv, int, int]]:
    """Play a file and yield its table, which changes, with the seat and the action that led there: before the first
    move -1 and -1, then after every move. Raises as `replay` does."""
    return _played(path, load(path))


def table_in(path: Path, decisions: int | None = None) -> tuple[AECEnv, bool]:
    """Return the table of a recorded game after that many decisions, by default all in the file, and whether anybody is
    to act there. Raises as `replay` does, and ValueError for more decisions than there are."""
    kept = load(path)
    made = len(kept["moves"])
    if decisions is not None and not 0 <= decisions <= made:
        raise InvalidValue(f"The game in {path} has {made:,} decisions; {decisions:,} were asked for.")
    *_, (env, _, _) = itertools.islice(_played(path, kept), None if decisions is None else decisions + 1)
    return env, bool(env.engine.batch.seat[0] >= 0)


def _played(path: Path | str, kept: dict[str, Any]) -> Iterator[tuple[AECEnv, int, int]]:
    """Play move after move, as `positions` does, and compare each with the recording: the seats, the actions' names and
    all that was shown."""
    try:
        game = gate.game_in(kept)
        env = AECEnv(game)
        env.reset(seed=0, options=opening_of(kept))
    except (ValueError, TypeError) as error:
        raise PlaythroughError(f"{path} cannot be replayed: {str(error).rstrip('.')}.") from None
    if len(kept["returns"]) != game.num_seats:
        raise PlaythroughError(f"{path} is damaged: {game.num_seats} seats, and {len(kept['returns'])} returns.")
    yield env, -1, -1
    for number, (move, expected) in enumerate(zip(kept["moves"], kept["shown"][1:], strict=True), start=1):
        seat, colon, name = move.partition(": ")
        if not colon or not seat.isdecimal():
            raise PlaythroughError(f"{path}, move {number} ({move}): a move reads SEAT: ACTION, as in '0: pass'.")
        if env.engine.batch.seat[0] != int(seat):
            raise PlaythroughError(f"{path}, move {number} ({move}): seat {int(env.engine.batch.seat[0])} is to act.")
        try:
            action = game.action_number(name)
            env.step(action)
        except ValueError as error:
            raise PlaythroughError(f"{path}, move {number} ({move}): {error}") from None
        if _digest(env) != expected:
            raise PlaythroughError(
                f"{path}, after move {number} ({move}): mask, rewards or an observation differ from what was recorded."
            )
        yield env, int(seat), action


def make(game: Game, seed: int = 0, bot: str | None = None, out: Path | None = None) -> Path:
    """Play one episode of a game, by the bot of that name or at random, and record it: in `out`, by default in a file
    of the game's own folder. Return the file. Raises ValueError for an unknown bot."""
    if bot is not None and bot not in game.bots:
        raise InvalidValue(f"{game.name} has no bot {bot!r}; there are: {', '.join(game.bots)}.")
    if game.name not in game_names():
        register_game(game.type)  # one from elsewhere: what is recorded names it as if it were known
    words = [*(f"{key}-{value}" for key, value in game.changed_options.items()), bot or "random", f"seed-{seed}"]
    stem = re.sub(r"[\[\] ]", "", "_".join(words)).replace(",", "-")
    path = out or game.type.folder / "playthroughs" / f"{stem}.json"
    path.parent.mkdir(exist_ok=True)
    save(path, record(game, seed, bot))
    list(replay(path))
    return path
