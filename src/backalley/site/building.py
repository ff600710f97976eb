"""`backalley site`: the pages of tables as files, with everything in them that is asked for."""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.base import keys
from backalley.console.errors import InvalidValue
from backalley.envs.core.api import histories
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.drawing.pictures import letters
from backalley.envs.core.files import durable
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.catalogue import game_names
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import events, record, rng
from backalley.exports.writing import export, licence
from backalley.web import showing, table, telling
from backalley.web.table_server import called

from .javascript import Script

METHODS = (
    "frames_of", "ending", "_log", "_begun", "_learned", "_result", "_finished", "_leader", "_table", "_scene",
    "_bare_scene", "_draw",
)  # fmt: skip
"""What the page's tables have of the server's."""
MOST_CODE = 900_000
"""Bytes that a game's code may have in its file, which stays below a megabyte: a policy with more is left out."""
_HERE, _WEB = Path(__file__).parent, Path(showing.__file__).parent
_PLAYER = ["observation", "mask", "key"]
"""The arguments of an exported function that plays."""


class Built(NamedTuple):
    """What `build` wrote."""

    folder: Path
    files: tuple[str, ...]
    """Their names in it."""

    def table(self) -> str:
        """Return the files with their sizes, as text."""
        sizes = [(self.folder / name).stat().st_size for name in self.files]
        rows = [f"{size:>10,} bytes  {name}" for size, name in zip(sizes, self.files, strict=True)]
        return "\n".join([*rows, f"{sum(sizes):>10,} bytes in {self.folder}; index.html is the first page."])


def build(
    out: str | Path,
    games: Sequence[str] = (),
    *,
    replace: bool = False,
    progress: Callable[[float, float, str], None] = lambda done, total, words: None,
) -> Built:
    """Write the site with these games, all by default, under their default options, to the folder `out`.

    `progress` is called with the games done, all games, and the name of the next. Raises ValueError for an unknown
    game, and where a page is there unless `replace` is set; OSError where the folder cannot be written to.
    """
    folder, common, files = Path(out), Script(_instead()), dict[str, str]()
    if (folder / "index.html").exists() and not replace:
        raise InvalidValue(f"{folder} holds a page already; name another folder, or say replace (--replace).")
    chosen = [game_of(name) for name in games or game_names()]
    shared = shared_script(common)
    listed = [{"name": one.name, "title": one.title, "about": showing.about(one)} for one in chosen]
    for number, game in enumerate(chosen):
        progress(number, len(chosen), game.title)
        files[f"games/{game.name}.js"] = game_script(game, common)
    files["ask.js"] = f"{shared}\nbackalley.games = {json.dumps(listed)};\n"
    for name, page in (("index.html", "page.html"), ("page.css", "page.css"), ("page.js", "page.js")):
        files[name] = showing.colour_rules() * (name == "page.css") + (_WEB / page).read_text("utf-8")
    files |= {"LICENSE": licence(), "letters.LICENSE": letters.FILE.with_suffix(".LICENSE").read_text("utf-8")}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        durable.write_file(folder / name, text.encode())
    return Built(folder, tuple(files))


def _instead() -> dict[Any, str]:
    """What is written in JavaScript: where bytes are read, and where events are kept."""
    return {
        letters.letters_of: "B.letters_of",
        BatchEnv: "B.batch",
        events.tell: "B.tell",
        histories.kinds_of: "B.kinds_of",
    }


def shared_script(script: Script) -> str:
    """Return `ask.js` but for its list of games; what it defines is then known to `script`."""
    for function in (
        rng.below,
        keys.table_key,
        keys.decision_key,
        telling.seats_called,
        histories._line,
        histories._number,
    ):
        script.value(function)
    for name in METHODS:
        script.method(table.Table, name)
    drawn = f"const METHODS = {json.dumps(METHODS)}, LETTERS = {letters.FILE.read_text('utf-8')};"
    runtime, tables = ((_HERE / name).read_text("utf-8") for name in ("runtime.js", "tables.js"))
    inside = [runtime, *script.lines, drawn, tables]  # in a scope of their own: the page has names like theirs
    return "\n".join(
        ['const { ask, backalley } = (() => {\n"use strict";', *inside, "return { ask, backalley };\n})();"]
    )


def game_script(game: Game, shared: Script) -> str:
    """Return a game's own file: rules and players, its functions, and what is said of it."""
    script = Script(given=shared)
    declared = game.type.events or events.Events()
    made = {"options": game.options, "shown": game.type.table, "tell_deal": declared.deal, "tell_step": declared.step}
    values = ", ".join(f"{name}: {script.value(value, name)}" for name, value in made.items())
    kinds = script.value(histories.kinds_of(game), "kinds")
    inside = "\n".join(script.lines)
    return (
        f"backalley.bring({json.dumps(_about(game))}, (shared, py) => {{\nconst B = Object.create(shared);\n{inside}\n"
        f"return {{ {values}, kinds: {kinds} }};\n}});\n"
    )


def _about(game: Game) -> dict[str, Any]:
    """All that a page has to know of a game, with its code."""
    layout, code = _exported(game, "policy")
    if too_large := len(code) > MOST_CODE:
        layout, code = _exported(game, None)
    actions = range(game.num_actions)
    kept = ("seats", "seat_names", "actions", "deck", "start_outcomes", "state", "observation", "functions")
    words = {action: game.action_told(action) for action in actions}
    secret = [game.type.events is not None and game.type.events.secret(game.options, action) for action in actions]
    first = {word: action for action, word in reversed(words.items())}
    shapes = {one.name: one.resolved_shape(game.options) for one in record.fields(game.type.State)}
    return {
        "name": game.name,
        "summary": showing.about(game),
        "rules": showing.chapters(game.type.bind()),
        "layout": {"title": game.title, **{name: layout[name] for name in kept}},
        "seat_names": game.type.seat_names,
        "sides": game.sides,
        "agents": _agents(layout["functions"]),
        "note": "The game has its usual rules here; the installed package can change them."
        + " Its trained player is too large for this page; the installed package has it." * too_large,
        "shown_as": list(words.values()),
        "secret": secret,
        "seen_as": [
            -1 if secret[action] else 0 if words[action] == game.action_str(action) else 1 + first[words[action]]
            for action in actions
        ],
        "card_names": {int(card): game.card_name(card) for card in game.pack},
        "empty": {name: shape for name, shape in shapes.items() if 0 in shape},
        "wasm": code.decode(),
    }


def _exported(game: Game, policy: str | None) -> tuple[Any, bytes]:
    """The layout of a game's export, and its code, packed."""
    with tempfile.TemporaryDirectory() as place:
        layout = export(game, "wasm", place, policy=policy).layout
        code = Path(place, f"{game.name}.wasm").read_bytes()
    return layout, base64.b64encode(gzip.compress(code, mtime=0))


def _agents(functions: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Who may sit at a table, weakest first: what the export plays, by the names that people know."""
    players = [one["name"] for one in functions if [part["name"] for part in one["arguments"]] == _PLAYER]
    bots = [name for name in players if name.startswith("bot_")]
    names = {"random": "random"} | {name: f"bot:{name.removeprefix('bot_')}" for name in bots[:-1]}
    names |= {bots[-1]: "bot"} if bots else {}
    names |= {name: name for name in players if name not in names}
    return [{"name": name, "function": function, "words": called(name)} for function, name in names.items()]
