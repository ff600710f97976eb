"""Runs and files of results as one page: HTML that needs nothing beside it, neither files nor scripts nor a network."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.policy_file import CURVE_JSON, JSON_FILE
from backalley.agents.registry import agent
from backalley.agents.watching import picture, turns
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.pictures.colours import colours

from . import charts, curves, kinds, plots
from .cells import Found, bound, changed, title
from .curves import EVALUATION_FILE, RUN_FILE, LearningCurve
from .tabular import html_table, paragraph

SHOWN = {
    "evaluation": ("strength", "Matches"),
    "tournament": ("cross", "Tournament"),
    "ladder": ("ladder", "Ladder"),
    "cross": ("cross", "Each against each"),
    "methods": ("methods", "Ways to train"),
    "searches": ("searches", "Searches"),
    "crowds": ("crowds", "What a decision costs"),
    "solution": ("exact", "Exact values"),
    "agent_values": ("gaps", "Gaps to best play"),
    "exploitability": ("exploitability", "Losses to best replies"),
    "speed": ("speed", "Speed"),
    "endurance": ("endurance", "Played with every promise checked"),
    "training rates": ("rates", "Rates of training"),
    "training speed": ("training_speed", "Speed of training"),
}
"""For each kind of file the kind of its table (`kinds.KINDS`), and its heading."""
_TRAINING = "training"
"""The kind of the file at the end of a run, which holds evaluations."""
_SEED = 7
"""Of the tables that are drawn."""
_SEVERAL = "Several games"


class Source(NamedTuple):
    """Something that a report shows."""

    path: Path
    """Where it was found."""
    found: Found
    curve: LearningCurve | None = None
    """Where `found` is a learning curve."""


def sources(path: Path, name: str) -> list[Source]:
    """What there is at a path: the folder of a run or of a policy, a file of results, or a folder of such files; `name`
    is what its curve goes by. Raises ValueError in a sentence for what is none of these or damaged, OSError."""
    if path.is_dir() and (path / RUN_FILE).is_file():
        return _of_run(path, name)
    if path.is_dir() and (path / CURVE_JSON).is_file():
        return [_of_curve(path, name)]
    if path.is_dir() and (path / JSON_FILE).is_file():
        raise ValueError(f"{path} is a policy without a learning curve; there is nothing of it to show.")
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            raise ValueError(f"{path} is no run, no policy with a learning curve, and no folder of results (JSON).")
        return [one for file in files for one in _of_file(file, file.stem)]
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    return _of_file(path, name)


def _of_run(path: Path, name: str) -> list[Source]:
    found = [_of_curve(path, name)] if any((path / file).is_file() for file in (CURVE_JSON, curves.CURVE_FILE)) else []
    if (path / EVALUATION_FILE).is_file():
        found += _of_file(path / EVALUATION_FILE, name)
    if not found:
        raise ValueError(f"{path} is a run with neither a learning curve nor an evaluation yet.")
    return found


def _of_curve(path: Path, name: str) -> Source:
    curve = curves.read_curve(path, name)
    return Source(path, {"kind": curves.KIND, "command": curve.command, **curve.found()}, curve)


def _of_file(path: Path, name: str) -> list[Source]:
    found = curves.read_json(path)
    kind = found.get("kind")
    if kind == curves.KIND:
        return [_of_curve(path, name)]
    if kind == _TRAINING:
        stamp = {key: value for key, value in found.items() if key in ("command", "commit", "date", "machine")}
        return [Source(path, {**one, **stamp}) for one in found.get("reports", ())]
    if kind not in SHOWN:
        known = ", ".join([*SHOWN, curves.KIND, _TRAINING])
        raise ValueError(f"{path} is of the kind {kind!r}; a report shows: {known}.")
    return [Source(path, found)]


def page(given: Sequence[Source], *, heading: str = "Results", theme: str = "light") -> str:
    """The report, game by game: tables drawn, learning curves, charts, figures, and the commands behind them. Raises
    ValueError in a sentence for no source, and for a file that lacks what its kind has."""
    if not given:
        raise ValueError("There is nothing to report: no run and no file was given.")
    games: dict[str, list[Source]] = {}
    for source in given:
        games.setdefault(_section(source), []).append(source)
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
        raise ValueError(f"{source.path} is damaged: its game is {source.found['game']!r}.") from None


def _anchor(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def _game(name: str, sources: Sequence[Source], theme: str) -> Iterator[str]:
    if name != _SEVERAL and (game := bound(sources[0].found)) is not None:
        drawn = table_in_play(game, theme)
        yield _image(drawn, f"A table of {name}", "table")
    learned = [source.curve for source in sources if source.curve]
    if learned:
        yield "<h3>Learning curves</h3>"
        yield from (_image(charts.svg([chart], theme), chart.title) for chart in plots.curves(learned))
        yield _commands([curve.command for curve in learned])
    for group in _groups([source for source in sources if not source.curve]):
        try:
            yield "\n".join(_figures([source.found for source in group], theme))
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            files = ", ".join(dict.fromkeys(str(source.path) for source in group))
            raise ValueError(
                f"{files}: not what a file of the kind {group[0].found['kind']!r} holds, {error!r}."
            ) from None


def _groups(sources: Sequence[Source]) -> list[list[Source]]:
    """Evaluations of a game under the same options go together, those of pairs apart from others; other files stand
    alone."""
    found: dict[Any, list[Source]] = {}
    for number, one in enumerate(sources):
        same = (repr(one.found.get("options")), _in_pairs(one.found)) if one.found["kind"] == "evaluation" else number
        found.setdefault(same, []).append(one)
    return list(found.values())


def _in_pairs(found: Found) -> bool:
    """Whether an evaluation is one agent against another."""
    return len(found.get("agents", ())) == 2 and len(set(found.get("sides", ()))) > 1


def table_in_play(game: Game, theme: str) -> str:
    """A table of the game, some way into an episode of its best bot, as SVG."""
    player = agent("bot" if game.bots else "random", game)
    length = sum(1 for _ in turns(AECEnv(game), [player], _SEED))
    return picture(game, player, seed=_SEED, decisions=length // 3, theme=theme)


def _figures(files: Sequence[Found], theme: str) -> Iterator[str]:
    files = [_as_shown(found) for found in files]
    first = files[0]
    kind, words = SHOWN[first["kind"]]
    game = bound(first) if "game" in first else None
    options = changed(game.changed_options) if game else ""
    yield f"<h3>{words}{f' with {_inline(options)}' if options else ''}</h3>"
    yield from (_image(charts.svg([chart], theme), chart.title) for chart in plots.of_results(files))
    if first["kind"] == "evaluation" and not _in_pairs(first):
        kind = "alone"
    shown = kinds.figures(kind, files)
    if isinstance(shown, str):
        yield paragraph(shown, _inline)
    else:
        yield f'<div class="wide">{html_table(shown, _inline)}</div>'
        yield from (paragraph(note, _inline) for note in shown.notes)
    yield _commands(kinds.commands(kind, files))
    yield from dict.fromkeys(paragraph(_measured(found)) for found in files)


def _as_shown(found: Found) -> Found:
    """A tournament's agents go by their names, where those of a cross table have labels."""
    if found["kind"] != "tournament":
        return found
    return {**found, "agents": [{**one, "label": one["name"]} for one in found["agents"]]}


def _measured(found: Found) -> str:
    """Where figures come from, in a sentence."""
    machine: Any = found.get("machine") or {}
    where = f" on {machine['processor']}, {machine['cores']} cores" if "processor" in machine else ""
    commit = f", commit {found['commit'][:12]}" if found.get("commit") else ""
    return f"Measured{where}{commit}, {found['date'][:10]}." if "date" in found else ""


def _commands(lines: Sequence[str]) -> str:
    told = [line for line in dict.fromkeys(lines) if line]
    return f"<pre>{html.escape(chr(10).join(told))}</pre>" if told else ""


def _inline(markdown: str) -> str:
    """What stands in backquotes as code; no other sign of Markdown is used in figures."""
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
        f"pre{{background:{scheme.panel};padding:.8em;overflow-x:auto;font-size:13px}}"
        f"p{{color:{scheme.quiet}}}"
    )
