"""What searches gain and cost, as pages and terminals show it; `searches.py` measures it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .cells import Found, Line, changed, interval, mean, title
from .tabular import text


def searches(files: Sequence[Found]) -> Iterator[Line]:
    """Every agent against the best bot, then some against the others."""
    several = len(files) > 1
    for found in files:
        for row in found["rows"]:
            yield {
                "game": title(found) if several else "",
                "options": changed(found["options"]),
                "agent": f"`{row['agent']}`{_time(found, row)}",
                "against": f"`{row['against']}`" if row["against"] else "",
                "mean return": mean(row["mean_return"]),
                "95 % interval": interval(row["mean_return"]),
                "less, on the same decks": "; ".join(
                    f"`{name}`: {mean(lead)} ({interval(lead)})" for name, lead in _leads(found, row).items()
                ),
                "ms a decision": f"{row['milliseconds']:.3g}" if "milliseconds" in row else "",
                "worlds": f"{row['worlds']:.1f}" if "worlds" in row else "",
                "deals": f"{row['deals']:,}",
            }


def crowds(files: Sequence[Found]) -> Iterator[Line]:
    """What one decision costs, by how many sit at the table."""
    for row in (row for found in files for row in found["rows"]):
        last = row["agents"][-1]
        yield {
            "game": title(row),
            "options": changed(row["options"]),
            "seats": f"{row['seats']}",
            **{f"ms a decision of `{one['agent']}`": f"{one['milliseconds']:.3g}" for one in row["agents"]},
            f"worlds of `{last['agent']}`": f"{last['worlds']:.1f}",
            "decisions": f"{last['decisions']:,}",
        }


def _leads(found: Found, row: Found) -> dict[str, Found]:
    """Over whom a row has a lead on the same decks: who it is held against, and where seats play alone the best bot."""
    less = row.get("less")
    leads = {less["agent"]: less["lead"]} if less else {}
    return leads | ({found["best"]: row["lead"]} if "lead" in row else {})


def _time(found: Found, row: Found) -> str:
    """Whether it is one of those whose worlds were chosen for their cost."""
    dearer = {f"search:{found['dearer']}", f"search+policy:{found['policy']}"}
    if row["agent"] == f"search:{found['equal']}":
        return " =" if found["equal"] != found["dearer"] else " = 4x"
    return " 4x" if row["agent"] in dearer else ""


def text_of(found: Found) -> str:
    """A file of results as text."""
    lines = list(searches([found]))
    head = [name for name in lines[0] if any(line[name] for line in lines)]
    shown = [[line[name].replace("`", "") for name in head] for line in lines]
    return "\n\n".join([found["game"], text(head, shown, left=2), *notes([found])]).replace("`", "")


def notes(files: Sequence[Found]) -> list[str]:
    """What a reader should know, in a sentence."""
    measures = " and ".join(sorted({f"`{found['measure']}`" for found in files}))
    return [
        f"= is the search of so many worlds that a decision costs what {measures} costs, 4x are those that cost four "
        "times that, as a short timing beforehand had it. Milliseconds are of processor time, all cores together, for "
        "a decision with a choice; worlds are those drawn for it on average."
    ]
