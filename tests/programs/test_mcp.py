"""The server for the Model Context Protocol, asked by a client in the same process."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import backalley
from tests.common.cases import GAMES

pytest.importorskip("mcp", reason="the package mcp (the extra `mcp`) is not installed")
from mcp import Client, StdioServerParameters

from backalley.mcp import TABLES, server

Call = Callable[..., Awaitable[tuple[bool, str]]]
BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


def talk(conversation: Callable[[Call], Awaitable[None]]) -> None:
    """Hold a conversation with a new server; `call(tool, ...)` returns whether it refused, and its text."""

    async def held() -> None:
        async with Client(server()) as client:

            async def call(tool: str, **given: Any) -> tuple[bool, str]:
                answer = await client.call_tool(tool, given)
                return bool(answer.is_error), "\n".join(part.text for part in answer.content if part.type == "text")

            await conversation(call)

    asyncio.run(held())


def table_of(text: str) -> str:
    found = re.match(r"Table (\w+)\.", text)
    assert found, text
    return found[1]


@pytest.mark.slow
@BY_NAME
def test_a_client_plays_a_whole_game(game: backalley.Game) -> None:
    """Always the last of the legal actions that it is shown, by name."""
    short = {"killer_bridge": {"length": "single"}, "pitch": {"mode": "hand"}, "bezique": {"mode": "deal"}}

    async def conversation(call: Call) -> None:
        refused, text = await call("new_game", game=game.name, seed=3, options=short.get(game.name, {}))
        assert not refused, text
        table = table_of(text)
        while "The game is over." not in text:
            _, seen = await call("observe", table=table, legal_actions=True, since="deal")
            legal = re.search(r"Your legal actions: (.*)\.$", seen)
            assert legal, seen
            name = legal[1].split(", ")[-1]
            refused, text = await call("act", table=table, action=name)
            assert not refused, text
            assert text.startswith(f"You played: {name}.")
        assert re.search(r"Your return: [+-][\d.]+\.$", text)
        assert (await call("end_game", table=table))[1].startswith("Your return")

    talk(conversation)


def test_games_rules_and_hints() -> None:
    async def conversation(call: Call) -> None:
        assert "pitch: Pitch, 4 seats, bots" in (await call("list_games"))[1]
        assert "### §1.5 Scores" in (await call("rules", game="pitch"))[1]
        assert (await call("rules", game="pitch", paragraph="§1.5"))[1].startswith("### §1.5 Scores")
        table = table_of((await call("new_game", game="missouri_city", opponent="random", seat=1, seed=1))[1])
        assert "would play: " in (await call("hint", table=table))[1]
        assert "its standard error" in (await call("hint", table=table, adviser="search:8:50"))[1]

    talk(conversation)


def test_bad_input_is_answered_in_a_sentence_and_loses_nothing() -> None:
    async def conversation(call: Call) -> None:
        table = table_of((await call("new_game", game="pitch", seed=1))[1])
        before = await call("observe", table=table)
        for tool, given, says in [
            ("new_game", {"game": "chess"}, "There is no game 'chess' here; the games are"),
            ("new_game", {"game": "/etc/passwd"}, "There is no game"),
            ("new_game", {"game": "pitch", "opponent": "tests/common/faulty.py:Fair"}, "There is no agent"),
            ("new_game", {"game": "pitch", "opponent": "search+./runs:5:5"}, "There is no agent"),
            ("new_game", {"game": "pitch", "opponent": "human"}, "There is no agent"),
            ("new_game", {"game": "pitch", "opponent": "search:99999"}, "There is no agent"),
            ("new_game", {"game": "pitch", "seat": 9}, "pitch has seats 0..3"),
            ("new_game", {"game": "pitch", "seed": -1}, "seed"),
            ("new_game", {"game": "pitch", "options": {"target": "high"}}, "target is 'high'"),
            ("new_game", {"game": "pitch", "options": {"colour": 1}}, "colour"),
            ("rules", {"game": "pitch", "paragraph": "§99"}, "has no paragraph '§99'"),
            ("observe", {"table": "none"}, "There is no table 'none' here"),
            ("observe", {"table": table, "since": "ever"}, "since is 'ever'"),
            ("act", {"table": table, "action": "I could bid 2 or 3"}, "is no action of Pitch. Legal: "),
            ("act", {"table": table, "action": "x" * 300_000}, "at most 200,000 are read"),
            ("act", {"table": table}, "action"),
            ("act", {"table": table, "action": ["bid 2"]}, "action"),
            ("hint", {"table": table, "adviser": "nobody"}, "There is no agent 'nobody' here"),
            ("dance", {}, "dance"),
        ]:
            refused, text = await call(tool, **given)
            assert refused, (tool, given, text)
            assert says in text, text
        assert await call("observe", table=table) == before

    talk(conversation)


def test_old_tables_make_room() -> None:
    async def conversation(call: Call) -> None:
        first, second = [table_of((await call("new_game", game="backhand", seed=1))[1]) for _ in range(2)]
        for _ in range(TABLES - 2):
            await call("new_game", game="backhand", seed=1)
        await call("observe", table=first)
        await call("new_game", game="backhand", seed=1)
        assert not (await call("observe", table=first))[0]
        assert (await call("observe", table=second))[0]

    talk(conversation)


@pytest.mark.slow
def test_the_command_speaks_the_protocol_on_standard_input_and_output() -> None:
    async def held() -> None:
        command = StdioServerParameters(command=sys.executable, args=["-m", "backalley", "mcp"], env=dict(os.environ))
        async with Client(command) as client:
            answer = await client.call_tool("new_game", {"game": "backhand", "seed": 1})
            assert not answer.is_error
            assert len((await client.list_tools()).tools) == 7

    asyncio.run(held())
