"""A server for the Model Context Protocol: a language model plays any game against bots, policies and searches.

`backalley mcp` runs it on standard input and output. Its tools list the games, give the rules, begin a game, show what
the model's seat may know, play its answers, advise and end a game. It needs the extra `mcp`. A client names games,
agents and answers only: no name leads to a file. This may import everything but the command line.
"""

from __future__ import annotations

import functools
import secrets
import threading
from collections.abc import Callable
from typing import Any, ParamSpec

from backalley import __version__
from backalley.console.errors import BackAlleyError, InvalidValue, NotInstalled
from backalley.envs.core.game.catalogue import games
from backalley.envs.core.text import rules_text

from .llm import ANSWER, SeatInWords, named_game

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ModuleNotFoundError as error:
    raise NotInstalled("backalley mcp needs the package mcp: pip install 'backalley[mcp]'.") from error

TABLES = 64
"""The most tables that a server keeps; where a new game begins, the one that was used longest ago makes room."""
_P = ParamSpec("_P")


def server() -> MCPServer[Any]:
    """Return a server without tables of its own yet. Every refusal is a sentence, and changes nothing."""
    made: MCPServer[Any] = MCPServer(
        "backalley",
        title="Back Alley",
        version=__version__,
        instructions="Card games. Read rules(game), begin with new_game(game), then act(table, action) until the game "
        "is over. A table is a word that new_game gives you.",
        log_level="ERROR",
    )
    tables = Tables()
    for tool in (list_games, rules, tables.new_game, tables.observe, tables.act, tables.hint, tables.end_game):
        made.tool(structured_output=False)(_in_sentences(tool, tables.lock))
    return made


def list_games() -> str:
    """List the games, with how many seats they have, and their bots, weakest first."""
    rows = (f"{game.name}: {game.title}, {game.num_seats} seats, bots {', '.join(game.bots)}" for game in games())
    return "\n".join(rows)


def rules(game: str, paragraph: str = "") -> str:
    """Give the rules of a game and the names of its actions, or one paragraph of its page, such as §1.3."""
    return rules_text(named_game(game), paragraph or None)


class Tables:
    """The tables of one server, by the words that name them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._seats: dict[str, SeatInWords] = {}

    def new_game(
        self,
        game: str,
        opponent: str = "bot",
        seat: int = 0,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> str:
        """Begin a game. `opponent` plays all other seats: a bot (bot, bot:NAME), policy, or a search such as
        search:48:1000 (determinizations, milliseconds). `options` are the game's own. Without a seed cards are drawn.
        """
        made = SeatInWords(named_game(game, options), seat=seat, opponent=opponent, seed=seed)
        while len(self._seats) >= TABLES:
            del self._seats[next(iter(self._seats))]
        name = secrets.token_hex(4)
        self._seats[name] = made
        return f"Table {name}.\n\n{made.text()}\n\n{ANSWER}"

    def observe(self, table: str, legal_actions: bool = False, since: str = "episode") -> str:
        """Show what your seat may know; with `legal_actions` the actions you may take now, too. `since` is episode for
        all that has happened, or deal for what has happened since the latest deal."""
        return self._seat(table).text(since=since, legal=legal_actions)

    def act(self, table: str, action: str) -> str:
        """Play the action of that name, such as "play JC". The others then play until it is your turn again, or the
        game is over. An action that is not legal is refused, and changes nothing."""
        seat = self._seat(table)
        played = seat.game.action_str(seat.act(action))
        return f"You played: {played}.\n\n{seat.text(since='deal')}"

    def hint(self, table: str, adviser: str = "bot") -> str:
        """Say what an agent would play here, who sees what your seat sees; a search adds the value of each action."""
        return self._seat(table).hint(adviser)

    def end_game(self, table: str) -> str:
        """Say what your seat has gained, and put the table away. A game that is not over is left."""
        seat = self._seat(table)
        del self._seats[table]
        return f"Your return: {seat.gained:+g}." if seat.is_over else "You left the game before its end."

    def _seat(self, name: str) -> SeatInWords:
        """The seat at a table, which is now the one used last."""
        if name not in self._seats:
            raise InvalidValue(
                f"There is no table {name[:60]!r} here; a server keeps the {TABLES} used last. new_game begins another."
            )
        self._seats[name] = self._seats.pop(name)
        return self._seats[name]


def _in_sentences(tool: Callable[_P, str], lock: threading.Lock) -> Callable[_P, str]:
    """A tool whose refusals a client can read, and which waits for those before it."""

    @functools.wraps(tool)
    def called(*args: _P.args, **named: _P.kwargs) -> str:
        try:
            with lock:
                return tool(*args, **named)
        except BackAlleyError as error:
            raise ToolError(str(error)) from None

    return called
