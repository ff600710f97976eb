"""What a program has to know to call an exported game: records, constants, actions, functions; as data, as a C header,
and as a game of OpenSpiel's over that."""

from __future__ import annotations

import json
import math
import string
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from backalley import __version__
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import record

from .functions import BATCH
from .translate import Function

_TYPES = {
    "b1": "uint8", "i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32", "u4": "uint32",
    "i8": "int64", "u8": "uint64", "f4": "float", "f8": "double",
}  # fmt: skip

_RESERVED = """
    auto break case char const continue default do double else enum extern float for goto if int long register return
    short signed sizeof static struct switch typedef union unsigned void volatile while bool catch class delete new
    operator private public template this throw try
"""
"""Words that no field can be named by in C or C++."""


def layout_of(game: Game, functions: Sequence[Function], about: Mapping[str, Any]) -> dict[str, Any]:
    """Return it as JSON can hold it; `about` says what the file is."""
    low, high = game.reward_range
    return {
        "game": game.id,
        "title": game.title,
        "options": game.option_values,
        **about,
        "backalley": __version__,
        "seats": game.num_seats,
        "seat_names": [game.seat_name(seat) for seat in range(game.num_seats)],
        "actions": [game.action_str(action) for action in range(game.num_actions)],
        "cards": [game.card_name(card) for card in game.pack],
        "deck": game.cards_drawn if game.with_replacement else game.deck_size,
        "start_outcomes": game.num_start_outcomes,
        "max_decisions": game.max_decisions,
        "reward_range": [low, high],
        "zero_sum": game.zero_sum,
        "state": _record(game.type.State, game.state_dtype, game.options, bounds=False),
        "observation": _record(game.type.Observation, game.observation_dtype, game.options, bounds=True),
        "batch": [{"name": name, "type": kind, "meaning": doc} for name, (kind, doc) in BATCH.items()],
        "functions": [
            {
                "name": function.name,
                "symbol": f"{game.name}_{function.name}",
                "result": function.result,
                "arguments": [{"name": one.name, "type": one.type} for one in function.arguments],
                "meaning": function.doc,
            }
            for function in functions
        ],
    }


def _record(declared: type, kind: np.dtype[Any], options: Any, *, bounds: bool) -> dict[str, Any]:
    """A record's size and the place of each field; one that is empty under these options is left out."""
    found = []
    for item in record.fields(declared):
        shape = item.resolved_shape(options)
        if 0 in shape:
            continue
        assert kind.fields is not None
        about = {"name": item.name, "offset": kind.fields[item.name][1], "type": _TYPES[np.dtype(item.code).str[1:]]}
        about |= {"shape": list(shape), "meaning": item.doc}
        if bounds:
            about |= {"low": item.resolved_low(options), "high": item.resolved_high(options)}
        found.append(about)
    return {"size": kind.itemsize, "fields": found}


def header_of(name: str, layout: Mapping[str, Any]) -> str:
    """Return the C header of a layout; all that it declares begins with the game's name."""
    big, seats = name.upper(), ", ".join(layout["seat_names"])
    low, high = layout["reward_range"]
    numbers = {
        "SEATS": (layout["seats"], seats),
        "ACTIONS": (len(layout["actions"]), "numbered from 0; the JSON beside has their names"),
        "DECK": (layout["deck"], "cards that `shuffle` writes and `deal` takes"),
        "START_OUTCOMES": (layout["start_outcomes"], "equally likely outcomes before the first deal"),
        "CHANCE": (-1, "the seat while a deck has to be dealt"),
        "OVER": (-2, "the seat after the last action"),
        "REWARD_LOW": (low, "the least return of a seat"),
        "REWARD_HIGH": (high, "the greatest"),
    }
    options = ", ".join(f"{key}={value}" for key, value in layout["options"].items())
    lines = [
        f"/* {_plain(layout['title'])} ({layout['game']}), rules {layout['rules']}, by Back Alley "
        f"{layout['backalley']}; MIT licence.",
        f"   Options: {_plain(options)}. */",
        f"#ifndef {big}_H",
        f"#define {big}_H",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        *(f"#define {big}_{key} ({value}) /* {_plain(doc)} */" for key, (value, doc) in numbers.items()),
        "",
        "#pragma pack(push, 1)",
    ]
    for kind in ("state", "observation"):
        lines.append("typedef struct {")
        for one in layout[kind]["fields"]:
            shape = "".join(f"[{size}]" for size in one["shape"])
            lines.append(f"    {_c(name, one['type'])} {_field(one['name'])}{shape}; /* {_plain(one['meaning'])} */")
        lines += [f"}} {name}_{kind};", ""]
    lines += ["#pragma pack(pop)", "typedef struct { /* many tables, B of them */"]
    for one in layout["batch"]:
        lines.append(f"    {_c(name, one['type'])} *{one['name']}; /* {_plain(one['meaning'])} */")
    lines += [
        f"}} {name}_batch;",
        "",
        "#ifdef __cplusplus",
        f"#define {big}_HOLDS(what) static_assert(what, #what)",
        'extern "C" {',
        "#else",
        f"#define {big}_HOLDS(what) _Static_assert(what, #what)",
        "#endif",
    ]
    for kind in ("state", "observation"):
        lines.append(f"{big}_HOLDS(sizeof({name}_{kind}) == {layout[kind]['size']});")
        for one in layout[kind]["fields"]:
            lines.append(f"{big}_HOLDS(offsetof({name}_{kind}, {_field(one['name'])}) == {one['offset']});")
    for one in layout["functions"]:
        given = ", ".join(f"{_c(name, part['type'])} {part['name']}" for part in one["arguments"])
        lines += ["", f"/* {_plain(one['meaning'])} */", f"{_c(name, one['result'])} {one['symbol']}({given});"]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "#endif", ""]
    return "\n".join(lines)


def openspiel_game(name: str, layout: Mapping[str, Any], code: str) -> str:
    """Return C++ that makes the game of a layout one of OpenSpiel's, to be linked with the file `code`."""
    fields = layout["observation"]["fields"]
    given = {
        "name": name,
        "NAME": name.upper(),
        "title": _plain(layout["title"]),
        "code": code,
        "actions": ",\n".join(f"    {_quoted(action)}" for action in layout["actions"]),
        "fields": ", ".join(_quoted(one["name"]) for one in fields),
        "sizes": ", ".join(str(math.prod(one["shape"])) for one in fields),
        "number": _c(name, fields[0]["type"]),
        "zero_sum": "true" if layout["zero_sum"] else "false",
        "longest": layout["max_decisions"] or 1_000_000,
    }
    text = resources.files(__package__).joinpath("openspiel.cc").read_text("utf-8")
    return string.Template(text).substitute(given)


def _quoted(text: str) -> str:
    """A text in C++."""
    return json.dumps(text, ensure_ascii=False)


def _field(name: str) -> str:
    """A field's name in C, where `void` and some others are the language's own."""
    return f"{name}_" if name in _RESERVED.split() else name


def _c(name: str, kind: str) -> str:
    """A type of the layout in C."""
    plain, pointer = kind.rstrip("*"), " *" * kind.endswith("*")
    if plain in ("state", "observation", "batch"):
        return f"{name}_{plain}{pointer}"
    return (plain if plain in ("float", "double", "void") else f"{plain}_t") + pointer


def _plain(text: Any) -> str:
    """Words that may stand in a comment of C."""
    return " ".join(str(text).split()).replace("*/", "* /").replace("/*", "/ *")
