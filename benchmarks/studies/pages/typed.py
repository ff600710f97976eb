"""Types of every game's options for type checkers and editors. `backalley dev types` writes them, and so does `dev
docs`.

Each game's `Options` gives a module `backalley.<game>_v<N>`, as PettingZoo names its environments, and overloads of
`backalley.make`, `make_vec` and `game` by the game's name, in a stub that is never imported at run time.
"""

from __future__ import annotations

import inspect
import textwrap
import typing
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

from backalley.envs.core.api import registry
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.catalogue import games_root
from backalley.envs.core.game.game import GameType
from backalley.envs.core.rules import options as option_rules

_COMMAND = "backalley dev types"
_WRITTEN = f"Written by `{_COMMAND}` from the game's Options"
_WIDTH = 120
_NEWLINE = "\n"


def files() -> dict[Path, str | None]:
    """Return every file that this writes, as it should read; None for a game or version that no longer exists."""
    games = [catalogue.game_type(name) for name in catalogue.own_games()]
    root = _package()
    found: dict[Path, str | None] = {
        file: None for file in sorted(root.glob("*_v[0-9]*.py")) if _WRITTEN in file.read_text("utf-8")
    }
    found |= {root / f"{module_name(game)}.py": _module(game) for game in games}
    return {**found, root / "_by_name.pyi": _stub(games)}


def module_name(game: GameType) -> str:
    """Return PettingZoo's name for the module of a game: `poker_duel_v0`."""
    return game.id.replace("-v", "_v")


def _package() -> Path:
    """The folder of the package's root: where `backalley/__init__.py` lies."""
    checkout = games_root().parent / "src" / "backalley"
    return checkout if checkout.is_dir() else games_root().parent


# A game's module ------------------------------------------------------------------------------------------------------


def _module(game: GameType) -> str:
    fields, makes = _fields(game), inspect.signature(registry.make).return_annotation
    kinds = [kind for kind in ("Literal", "SupportsIndex") if kind in fields]
    imports = sorted(
        (
            "from backalley.envs.core.api.aec import AECEnv",
            "from backalley.envs.core.api.registry import EnvSettings, make, with_options_of",
            f"from {game.module} import GAME as game",
        )
    )
    return f'''"""{game.title}, as PettingZoo names its environments: `from backalley import {module_name(game)}`.

{_WRITTEN}; not edited by hand.
"""

from __future__ import annotations

from typing import {", ".join([*kinds, "TypedDict", "Unpack"])}

{_NEWLINE.join(imports)}

__all__ = ["EnvOptions", "GivenOptions", "env", "game", "raw_env"]


class GivenOptions(TypedDict, total=False):
{_doc(f"The options of {game.title}, as they may be given; those left out are at their defaults.")}
{fields}


class EnvOptions(EnvSettings, GivenOptions, total=False):
    """The same, and what else `backalley.make` takes."""


@with_options_of(game)
def env(**given: Unpack[EnvOptions]) -> {makes}:
{_doc(f"A PettingZoo AEC environment of {game.title}. What it takes beside the options: see `backalley.make`.")}\
    return make(game, **given)


raw_env = env
"""The same: order and legality are checked inside, not by wrappers."""
'''


def _fields(game: GameType) -> str:
    """A line for each option, with its meaning and default."""
    lines = []
    if game.presets:
        lines += [_field("preset", _literal(list(game.presets))), _doc("options that go together under a name")]
    declared: type = game.Options
    defaults = option_rules.as_dict(declared())
    for name, (kind, note) in option_rules.declared(declared).items():
        default = defaults[name]
        shown = repr(tuple(default) if isinstance(default, list) else default).replace("'", '"')
        lines += [_field(name, hint(kind, note)), _doc(f"{note.doc} (default: {shown})")]
    return "".join(lines).rstrip("\n")


def _field(name: str, hint: str) -> str:
    line = f"    {name}: {hint}\n"
    if len(line) <= _WIDTH:
        return line
    return f"    {name}: (\n        {hint.replace(' | ', f'{_NEWLINE}        | ')}\n    )\n"


def _doc(doc: str) -> str:
    end = " " if doc.endswith('"') else ""
    text = textwrap.fill(f'"""{doc}{end}"""', _WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(f"{text}\n", "    ")


def hint(kind: Any, note: option_rules.Option) -> str:
    """Return the type of an option's values: all that `options.parse` takes, except the forms of command lines (numbers
    and truth values as strings, names in capitals)."""
    taken = [_literal([word for word, _ in note.words])] if note.words else []
    if typing.get_origin(kind) is tuple:
        items = [_number(one, note) for one in typing.get_args(kind)]
        several = " | ".join(dict.fromkeys(items))
        length = f"{several}, ..." if note.may_be_short else ", ".join(items)
        taken += ["SupportsIndex"] if note.may_be_short else []
        taken += [f"tuple[{length}]", f"list[{several.replace('SupportsIndex', 'int')}]"]
    elif issubclass(kind, IntEnum):
        taken += [_literal([member.name.lower() for member in kind]), "SupportsIndex"]
    elif kind is bool:
        taken += ["bool", "Literal[0, 1]"]
    else:
        taken += [_number(kind, note)]
    return " | ".join(taken)


def _number(kind: Any, note: option_rules.Option) -> str:
    """A whole number may be one of NumPy's; a fraction is a float."""
    return "float" if note.parts > 1 else {int: "SupportsIndex", float: "float"}[kind]


def _literal(words: list[str]) -> str:
    return "Literal[" + ", ".join(f'"{word}"' for word in words) + "]"


# The overloads --------------------------------------------------------------------------------------------------------


def _stub(games: list[GameType]) -> str:
    modules = [module_name(game) for game in games]
    imports = [f"from .{game.Options.__module__.partition('.')[2]} import Options as _{game.name}" for game in games]
    imports += [
        "from .envs.core.api.aec import AECEnv",
        "from .envs.core.game.game import Game, GameType",
        "from .envs.core.api.vector import BatchEnv",
    ]
    functions = (registry.make, registry.make_vec, catalogue.game)
    named = sorted([*modules, *(function.__name__ for function in functions)])
    return f'''"""What `backalley.make`, `make_vec` and `game` take by a game's name, for type checkers and editors.

{_WRITTEN} and the functions of `registry`; not edited by hand.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, Unpack, overload

{_NEWLINE.join([f"from . import {name} as {name}" for name in modules])}
{_NEWLINE.join(sorted(imports))}

__all__ = [
{"".join(f'    "{name}",{_NEWLINE}' for name in named)}]

_OptionsT = TypeVar("_OptionsT")

class NoSuchOptionOrValue:
    """What no value is: a game of that name has no such option, or the option does not take that value.

    Of a game that only `register_game` knows by its name a checker knows no options: pass what `register_game` gives in
    place of the name, or the options as `**options` from a `dict[str, Any]`.
    """

{_NEWLINE.join(_overloads(function, games) for function in functions).rstrip()}
'''


def _overloads(function: Callable[..., Any], games: list[GameType]) -> str:
    """A declaration of `function` for each game's name, one for a game itself, and one for other names."""
    signature = inspect.signature(function)
    first, gives = next(iter(signature.parameters)), str(signature.return_annotation)
    binds = gives == "Game"

    def declared(game: str, options: str, bound: str) -> str:
        doc = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
        return (
            f"@overload\ndef {function.__name__}(\n    {first}: {game},\n{_parameters(function)}"
            f"    **options: {options},\n) -> {bound if binds else gives}:\n{_doc(doc)}"
        )

    found = [
        declared(_names(game), f"Unpack[{module_name(game)}.GivenOptions]", f"Game[_{game.name}]") for game in games
    ]
    found.append(
        declared(
            *(
                ("GameType[_OptionsT] | Game[_OptionsT]", "Any", "Game[_OptionsT]")
                if binds
                else ("GameType | Game", "Any", "")
            )
        )
    )
    found.append(declared("str", "NoSuchOptionOrValue", "Game"))
    return "\n".join(found)


def _names(game: GameType) -> str:
    """The names by which a game is found, as PettingZoo and Gymnasium spell them too."""
    return _literal([game.name, game.id, f"backalley/{game.id}", game.gymnasium_id])


def _parameters(function: Callable[..., Any]) -> str:
    """The parameters between a function's game and its options, a line each, as they are declared."""
    first, *rest, _ = inspect.signature(function).parameters.values()
    lines = ["/"] if first.kind is first.POSITIONAL_ONLY else []
    for each in rest:
        if each.kind is each.KEYWORD_ONLY and "*" not in lines:
            lines.append("*")
        default = "" if each.default is each.empty else f" = {each.default!r}".replace("'", '"')
        lines.append(f"{each.name}: {each.annotation}{default}")
    return "".join(f"    {line},\n" for line in lines)
