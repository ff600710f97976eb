"""Commands that show results as pictures and pages."""

from __future__ import annotations

from pathlib import Path

import click

from backalley.console.errors import one_line

from .shared import (
    Special,
    again,
    check_picture,
    check_place,
    dark_option,
    know_studies,
    picture_option,
    theme_of,
    write_picture,
    zoom_option,
)

_PLACES = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN_OR_JSON...")


@click.command()
@_PLACES
@picture_option()
@click.option("--measure", type=str, help="win_share, mean_return or lead; by default wins, and the lead of one seat.")
@click.option("--across", cls=Special, default="seconds", help="seconds, processor_seconds, decisions, samples.")
@click.option("--log", is_flag=True, help="A logarithmic axis of time or experience.")
@dark_option
@zoom_option
def plot(
    paths: tuple[Path, ...], path: Path, measure: str | None, across: str, log: bool, dark: bool, zoom: float
) -> None:
    """Plot learning curves of runs and policies, and files of results. A chart for each game, options and opponent."""
    from backalley.benchmarks.figures import charts
    from backalley.benchmarks.publish import plots
    from backalley.benchmarks.publish.sources import all_sources

    check_picture(path)
    know_studies()
    given = all_sources(paths, evaluations=False)
    drawn = charts.svg(plots.drawn(given, measure, across, log=log), theme_of(dark))
    write_picture(path, drawn, zoom)
    again()


@click.command()
@_PLACES
@click.option(
    "--out", "path", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The page, as HTML."
)
@click.option("--title", "heading", default="Results", help="The page's heading.")
@dark_option
def report(paths: tuple[Path, ...], path: Path, heading: str, dark: bool) -> None:
    """Put runs and results on one page. Pictures of tables, learning curves, charts, results with their intervals."""
    from backalley.benchmarks.publish import html_report
    from backalley.benchmarks.publish.sources import all_sources
    from backalley.envs.core.files.durable import write_file

    if path.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"A report is .html, and {path.name!r} is not.")
    check_place(path)
    know_studies()
    found = all_sources(paths)
    write_file(path, html_report.page(found, heading=heading, theme=theme_of(dark)).encode())
    click.echo(f"Written to {one_line(str(path))}.")
    again()
