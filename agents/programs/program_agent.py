"""`ProgramAgent`: a program in any language as an agent, by the protocol of `docs/guides/programs.md`."""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import shutil
import sys
import threading
from collections import OrderedDict, deque
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import NAME, InvalidValue, is_name
from backalley.envs.core.game.game import Game
from backalley.envs.core.text import UnreadableAnswer

from ..base.agent import Agent, View
from ..base.rule_based import random_rows
from .process import Process, ProgramFailed, seconds_and_rest
from .protocol import Heard, Question, Terms, end, hello, read_hello, read_line

SECONDS = 60.0
"""How long a program may take for a decision, unless its name says otherwise."""
CHAT_SECONDS = 600.0
"""The same for a language model."""
MOST_FAILURES = 5
"""How often in a row a program may fail before it is not started again."""
_STARTS = 3.0
"""Seconds that a program has for its hello, beside the limit of a decision."""
_SAID = 20
"""Forfeits that are said one by one."""
_REMEMBERED = 1 << 16
"""Forfeited tables that are remembered where nobody says that a table has ended."""
_FOLLOWED = 1 << 13
"""Tables whose histories are followed from decision to decision; of others, a decision begins again with all of it."""
_LARGEST = 1 << 26
"""The bytes of a file up to which it is distinguished from another of its name."""

Seat = tuple[int, int]
"""A table's key and a seat there."""


class ProgramAgent(Agent):
    """A program that plays `game`: one process for all tables, started at once, so that one that cannot be started, or
    speaks another version, is an error here. Raises InvalidValue.

    A program that crashes, is silent for `seconds`, or answers what is no answer forfeits the games that it was asked
    about, and is started again; so does one whose second answer, after the reason was sent, is illegal too. From then
    on its seat plays at random in that game, uniformly over legal actions: no program gains by a forfeit what it could
    not have had by play, and nobody else's return is touched. `forfeits` counts them.
    """

    hears_ends = True
    forfeits: int
    said: list[str]
    """The sentences on its first forfeits."""

    def __init__(self, words: list[str], game: Game, *, seconds: float, name: str) -> None:
        """`words` are the command and its arguments."""
        self.words, self.game, self.seconds, self.name = list(words), game, seconds, name
        self.forfeits, self.said = 0, []
        self._lost: OrderedDict[Seat, None] = OrderedDict()
        self._heard: OrderedDict[Seat, Heard] = OrderedDict()
        self._failures, self._number = 0, 0
        self._process: Process | None = None
        self._one_thread = threading.Lock()
        try:
            self._terms = self._start()
        except ProgramFailed as failure:
            raise InvalidValue(f"{self.name} made no agent of {game.name}: {failure}.") from None
        self.reads_events = bool(self._terms.wants - {"observation"})
        self.identity = {"program": _digests(self.words), "seconds": seconds, "says": self._terms.name}
        self.note = f"calls itself {self._terms.name}" if self._terms.name else ""

    # Its process ----------------------------------------------------------------------------------------------------

    def _start(self) -> Terms:
        """Start the program again. Raises ProgramFailed."""
        self.close()
        self._heard.clear()  # it has been sent nothing yet
        self._process = Process(self.words, self.name)
        self._process.send(hello(self.game))
        try:
            return read_hello(self._process.receive(self.seconds + _STARTS))
        except ProgramFailed:
            self._stop()
            raise

    def _running(self) -> Process:
        """The program, started again if it has failed. Raises ProgramFailed."""
        if self._process is None or not self._process.is_ours:
            self._terms = self._start()
        assert self._process is not None
        return self._process

    def _stop(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
        self._process = None

    def close(self) -> None:
        """End the program, by the end of its input."""
        if self._process is not None:
            self._process.close()
        self._process = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.words, self.game, self.seconds, self.name)

    # Decisions ------------------------------------------------------------------------------------------------------

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return the program's answers [n]; random legal actions where it has forfeited."""
        if view.game != self.game:
            raise InvalidValue(f"{self.name} plays {self.game!r}, and was shown a table of {view.game!r}.")
        actions = np.empty(len(view), np.int64)
        random_rows(view.action_mask, view.key, actions)
        with self._one_thread:
            waiting = deque(k for k in range(len(view)) if _seat(view, k) not in self._lost)
            if waiting and self._failures >= MOST_FAILURES:
                self._forfeit(view, list(waiting), "it is not started again")
                waiting.clear()
            asked: dict[int, Question] = {}
            while waiting or asked:
                try:
                    self._exchange(view, waiting, asked, actions)
                except ProgramFailed as failure:
                    self._stop()
                    lost = [one.k for one in asked.values()]
                    asked.clear()
                    if not lost:  # it cannot be started again
                        lost = list(waiting)
                        waiting.clear()
                    self._failed(view, lost, str(failure), waiting)
                except BaseException:  # Ctrl-C: what is still answered would be nobody's
                    self._stop()
                    raise
        return actions

    def _exchange(
        self, view: View, waiting: deque[int], asked: dict[int, Question], actions: npt.NDArray[np.int64]
    ) -> None:
        """Ask as much as the program wants to be asked at once, and read one answer. Raises ProgramFailed."""
        process = self._running()
        while waiting and len(asked) < self._terms.at_once:
            k = waiting.popleft()
            self._ask(process, Question(view, k, self._heard_at(_seat(view, k))), asked)
        answer = read_line(process.receive(self.seconds))
        number = next(iter(asked)) if answer.request is None and len(asked) == 1 else answer.request
        if number is None or number not in asked:
            raise ProgramFailed(f"it answered a request that is not open (id {number})")
        one = asked.pop(number)
        try:
            actions[one.k] = one.answered(answer.action)
        except UnreadableAnswer as error:
            if one.error:
                self._forfeit(view, [one.k], f"it was sent why, and its second answer is not legal either: {error}")
            else:
                self._ask(process, Question(view, one.k, one.heard, str(error)), asked)
        self._failures = 0

    def _ask(self, process: Process, one: Question, asked: dict[int, Question]) -> None:
        self._number += 1
        asked[self._number] = one
        process.send(one.line(self._number, self._terms.wants))

    def _heard_at(self, seat: Seat) -> Heard:
        """What a seat has heard; of many that nobody says have ended, the latest are kept."""
        heard = self._heard.setdefault(seat, Heard())
        self._heard.move_to_end(seat)
        while len(self._heard) > _FOLLOWED:
            self._heard.popitem(last=False)
        return heard

    # Forfeits -------------------------------------------------------------------------------------------------------

    def _failed(self, view: View, lost: list[int], why: str, waiting: deque[int]) -> None:
        """The process has failed, and forfeits `lost`; after too many failures in a row also what is `waiting`."""
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            lost, why = [*lost, *waiting], f"{why}; it failed {self._failures} times in a row"
            waiting.clear()
        self._forfeit(view, lost, why)

    def _forfeit(self, view: View, lost: list[int], why: str) -> None:
        before = self.forfeits
        for k in lost:
            self._lost[_seat(view, k)] = None
            self.forfeits += 1
        while len(self._lost) > _REMEMBERED:
            self._lost.popitem(last=False)
        if before < _SAID:
            games = "a game" if len(lost) == 1 else f"{len(lost):,} games"
            rest = " Further forfeits are only counted." if self.forfeits >= _SAID else ""
            self.said.append(f"{self.name} forfeits {games}: {why.rstrip('.')}.{rest}")
            print(self.said[-1], file=sys.stderr)

    def tables_ended(
        self, tables: npt.NDArray[np.uint64], seats: npt.NDArray[np.int64], gained: npt.NDArray[np.float64]
    ) -> None:
        """Tell the program which of its tables have ended."""
        with self._one_thread:
            for table, seat, value in zip(tables.tolist(), seats.tolist(), gained.tolist(), strict=True):
                self._heard.pop((table, seat), None)
                if (table, seat) in self._lost:
                    del self._lost[table, seat]
                elif self._process is not None and self._process.is_ours:
                    self._process.send(end(table, seat, value))


def _seat(view: View, k: int) -> Seat:
    return int(view.table[k]), int(view.seat[k])


def _again(words: list[str], game: Game, seconds: float, name: str) -> ProgramAgent:
    """The same agent in another process."""
    return ProgramAgent(words, game, seconds=seconds, name=name)


def _digests(words: list[str]) -> list[str]:
    """The words of a command, with digests of the files among them that are no larger than a program is."""
    found = list(words)
    for number, word in enumerate(words):
        path = Path((shutil.which(word) or word) if number == 0 else word)
        with contextlib.suppress(OSError, ValueError):
            if path.is_file() and path.stat().st_size <= _LARGEST:
                found[number] += f" {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    return found


def program_agent(game: Game, command: str) -> ProgramAgent:
    """Return the agent of `cmd:COMMAND`, or of `cmd:30s:COMMAND` with a limit for each decision. Raises ValueError."""
    seconds, line = seconds_and_rest(command, SECONDS)
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidValue(
            f"cmd:{command} cannot be read: {error}; it is a command as in a shell, quotes included."
        ) from None
    if not words:
        raise InvalidValue("cmd: names no program; it is followed by a command, as in 'cmd:./mine --fast'.")
    return ProgramAgent(words, game, seconds=seconds, name=_named(f"cmd:{command}"))


def language_model(game: Game, server: str) -> ProgramAgent:
    """Return the agent of `llm:URL#MODEL`, or of `llm:300s:URL#MODEL`: a language model behind a server of chat
    completions, asked by the program `chat.py`. Raises ValueError."""
    seconds, address = seconds_and_rest(server, CHAT_SECONDS)
    url, _, model = address.partition("#")
    if not url.startswith(("http://", "https://")) or not model:
        raise InvalidValue(
            f"llm:{server} names no language model; it takes the address of a server and a model's name there, as in "
            "llm:http://localhost:8000/v1#small-model."
        )
    words = [sys.executable, str(Path(__file__).with_name("chat.py")), url, model]
    return ProgramAgent(words, game, seconds=seconds, name=_named(f"llm:{server}"))


def _named(name: str) -> str:
    if not is_name(name):
        raise InvalidValue(f"The name of a program's agent is one line of up to {NAME} characters; it has {len(name)}.")
    return name
