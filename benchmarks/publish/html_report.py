"""Runs and files of results on one page: HTML without other files, scripts or a network."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from backalley.agents.people.watching import picture, turns
from backalley.agents.registry import agent
from backalley.console.errors import InvalidValue, one_line
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.drawing.pictures.colours import colours
from backalley.envs.core.game.game import Game

from ..figures import charts, result_kinds
from ..figures.formatting import Found, bound, changed, html_table, paragraph, title
from . import plots
from .sources import Source, groups, whole

_SEED = 7
"""Of the tables that are drawn."""
_SEVERAL = "Several games"


def page(given: Sequence[Source], *, heading: str = "Results", theme: str = "light") -> str:
    """Return the report, game by game: pictures of tables, learning curves, charts, tables, and their commands. Raises
    ValueError for no source, and for a file with missing entries."""
    if not given:
        raise InvalidValue("There is nothing to report: no run and no file was given.")
    games: dict[str, list[Source]] = {}
    for source in given:
        games.setdefault(_section(source), []).append(source)
    heading = one_line(heading)
    body = [f"<h1>{html.escape(heading)}</h1>"]
    if len(games) > 1:
        links = (f'<li><a href="#{_anchor(name)}">{html.escape(name)}</a></li>' for name in games)
        body.append(f"<nav><ul>{''.join(links)}</ul></nav>")
    for name, sources in games.items():
        body += [f'<section id="{_anchor(name)}">', f"<h2>{html.escape(name)}</h2>"]
        body += [*_game(name, sources, theme), "</section>"]
    head = f'<meta charset="utf-8"><title>{html.escape(heading)}</title><style>{_style(theme)}</style>'
    view = '<meta name="viewport" content="width=device-width">'
    return "\n".join(
        ["<!doctype html>", f'<html lang="en"><head>{head}{view}</head><body>', *body, "</body></html>", ""]
    )


def _section(source: Source) -> str:
    try:
        return title(source.found) if "game" in source.found else _SEVERAL
    except AttributeError:
        raise InvalidValue(f"{source.path} is damaged: its game is {source.found['game']!r}.") from None


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def _game(name: str, sources: Sequence[Source], theme: str) -> Iterator[str]:
    if name != _SEVERAL and (game := bound(sources[0].found)) is not None:
        yield _image(table_in_play(game, theme), f"A table of {name}", "table")
    learned = [source.curve for source in sources if source.curve]
    if learned:
        yield "<h3>Learning curves</h3>"
        for across in ("seconds", "decisions"):
            drawn = plots.curves(learned, across=across)
            yield from (_image(charts.svg([chart], theme), f"{chart.title}, by {across}") for chart in drawn)
        yield _commands([curve.command for curve in learned])
    for group in groups([source for source in sources if not source.curve]):
        with whole(group):
            yield "\n".join(_figures([source.found for source in group], theme))


def table_in_play(game: Game, theme: str) -> str:
    """Return a table of the game, during an episode of its best bot, as SVG."""
    player = agent("bot" if game.bots else "random", game)
    length = sum(1 for _ in turns(AECEnv(game), [player], _SEED))
    return picture(game, player, seed=_SEED, decisions=length // 3, theme=theme)


def _figures(files: Sequence[Found], theme: str) -> Iterator[str]:
    first = files[0]
    kind = result_kinds.KINDS[first["kind"]]
    game = bound(first) if "game" in first else None
    options = changed(game.changed_options) if game else ""
    yield f"<h3>{kind.heading}{f' with {_inline(options)}' if options else ''}</h3>"
    yield from (_image(charts.svg([chart], theme), chart.title) for chart in plots.of_results(files))
    name = kind.shown(files)
    shown = result_kinds.figures(name, files)
    if isinstance(shown, str):
        yield paragraph(shown, _inline)
    else:
        yield f'<div class="wide">{html_table(shown, _inline)}</div>'
        yield from (paragraph(note, _inline) for note in shown.notes)
    yield _commands(result_kinds.commands(name, files))
    yield from dict.fromkeys(paragraph(_measured(found)) for found in files)


def _measured(found: Found) -> str:
    """The origin of the numbers, in a sentence."""
    machine: Any = found.get("machine") or {}
    where = f" on {machine['processor']}, {machine['cores']} cores" if "processor" in machine else ""
    commit = f", commit {found['commit'][:12]}" if found.get("commit") else ""
    return f"Measured{where}{commit}, {found['date'][:10]}." if "date" in found else ""


def _commands(lines: Sequence[str]) -> str:
    kept = [line for line in dict.fromkeys(lines) if line]
    return f"<pre>{html.escape(chr(10).join(kept))}</pre>" if kept else ""


def _inline(markdown: str) -> str:
    """Text between backquotes as code; results have no other Markdown."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(markdown))


def _image(svg: str, words: str, kind: str = "chart") -> str:
    data = base64.b64encode(svg.encode()).decode()
    return f'<p><img class="{kind}" alt="{html.escape(words)}" src="data:image/svg+xml;base64,{data}"></p>'


def _style(theme: str) -> str:
    scheme = colours(theme, False)
    return (
        f"body{{font:16px/1.5 system-ui,sans-serif;max-width:980px;margin:2em auto;padding:0 1em;"
        f"background:{scheme.ground};color:{scheme.word}}}"
        f"a,code{{color:{scheme.accent}}}section{{margin-top:3em}}img{{max-width:100%}}"
        f".wide{{overflow-x:auto}}table{{border-collapse:collapse;font-size:14px}}"
        f"td,th{{padding:.25em .7em;border-bottom:1px solid {scheme.edge};white-space:nowrap}}"
        f"pre{{background:{scheme.panel};padding:.8em;white-space:pre-wrap;overflow-wrap:anywhere;font-size:13px}}"
        f"p{{color:{scheme.quiet}}}"
    )
