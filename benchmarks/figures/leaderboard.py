"""Agents in tables: their labels and how they were made; and the pretrained policies of a game."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from backalley.agents.policies.policy_file import player_of
from backalley.agents.policies.policy_kinds import Residual
from backalley.agents.policies.pretrained import Pretrained, pretrained
from backalley.envs.core.game.game import Game

from .attacks import best_of
from .formatting import Found, bound, changed, interval, markdown, mean
from .stats import Estimate

ATTACK = "attack gains at least"
"""The column of what an opponent who trained against an agent gains."""
MET = "†"
"""The mark of a policy that met this bot in training."""


def label(row: Found) -> str:
    """Return an agent's label: its name as one types it, or its own label."""
    return f"`{row['label']}`" if "made" not in row or row["label"].startswith("policy:") else row["label"]


def met(row: Found, against: str) -> bool:
    """Return whether the policy of a row met a bot in training."""
    return against.removeprefix("bot:") in row.get("met", ())


def met_bots(made: Mapping[str, Any]) -> list[str] | None:
    """Return the bots that a policy met in training, by their names, from its metadata `made`; None where these do not
    say."""
    if "field" in made:
        return [name.removeprefix("bot:") for name in made["field"] if name.startswith("bot:")]
    found: list[str] | None = made.get("met")
    return found


def notes(files: Sequence[Found]) -> list[str]:
    """Return what a reader of a ladder or a cross table should know of its agents, in sentences."""
    rows = [row for found in files for row in _rows(found)]
    said = [f"{label(row)}: {row['note']}" for row in rows if row.get("note")]
    if any(map(_has_marks, files)):
        said.append(f"{MET} The policy of this row met that bot in training.")
    return list(dict.fromkeys(said))


def _has_marks(found: Found) -> bool:
    """Whether a policy of a table met somebody there in training."""
    if "tables" in found:
        return any(met(row, table["against"]) for table in found["tables"] for row in table["rows"])
    labels = [row["label"] for row in found["agents"]]
    return any(met(row, label) for row in found["agents"] for label in labels)


def ladders_of(files: Sequence[Found]) -> list[Found]:
    """Return the ladders among files; files of attacks and searches may be beside them."""
    return [found for found in files if "tables" in found]


def attack_gain(files: Sequence[Found], found: Found, row: Found) -> Estimate | None:
    """Return what the best attack among the files gains on the agent of a `row`, in the game and under the options of
    `found`; None where it was not attacked."""
    game, names = bound(found), {row["label"], row.get("own_name")}
    for one in files:
        if one.get("kind") == "attack" and one["agent"] in names and game is not None and bound(one) == game:
            return Estimate(**best_of(one)["gain"])
    return None


def shown_attack(gain: Estimate | None) -> str:
    """Return the cell of the column `ATTACK`; empty where an agent was not attacked."""
    return f"{mean(gain.to_json())} ({interval(gain.to_json())})" if gain else ""


def makers(files: Sequence[Found]) -> list[str]:
    """Return the commands that made the policies of these tables."""
    return [row["made"] for found in files for row in _rows(found) if "made" in row]


def _rows(found: Found) -> Iterable[Found]:
    if "tables" in found:
        return (row for table in found["tables"] for row in table["rows"])
    rows: Iterable[Found] = found["agents"]
    return rows


def policies(game: Game) -> str:
    """Return the pretrained policies of a game: what each is, its options, and the command that makes it again."""
    found = pretrained(game)
    if not found:
        return "No policy comes with this game yet."
    rows = [
        [f"[`{one.spec}`](policy/{one.name}/README.md)", what(one), trained_for(game, one), served(one), _minutes(one)]
        for one in found
    ]
    table = markdown(["agent", "what it is", "made for", "serves as well", "minutes of training"], rows, left=4)
    return "\n".join([table, "", "```sh", *(one.metadata["made"]["command"] for one in found), "```"])


def what(one: Pretrained) -> str:
    """Return what a policy is, and how it learned, in a few words."""
    player, how = player_of(one.metadata), one.metadata["made"].get("algorithm", "")
    kind = player.meaning if isinstance(player, Residual) else "learned play"
    return f"{kind} ({how})" if how else kind


def trained_for(game: Game, one: Pretrained) -> str:
    """Return the options under which a policy was trained, in words."""
    return changed(game.type.bind(one.metadata["options"]).changed_options) or "the default options"


def served(one: Pretrained) -> str:
    """Return the further options that a policy serves, in words; empty if there are none."""
    served = one.metadata["serves"].items()
    return " ".join(changed({option: value}) for option, values in served for value in values)


def _minutes(one: Pretrained) -> str:
    seconds = one.metadata["made"].get("seconds")
    return f"{seconds / 60:.1f}" if isinstance(seconds, int | float) else ""
