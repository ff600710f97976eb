"""Makes a trained policy one that comes with its game, and writes what its play is known by:

    python -m backalley.agents.ship add runs/mine standard --serves match=game,series
    python -m backalley.agents.ship digests [GAME ...]

The first copies the policy to `policy/standard/` beside the game's `game.py`, with the learning curve of its run. The
second is for a change that is meant to alter how policies play, or the positions they are asked at: tests hold every
policy to the digest of its actions that stands in `policy/digests.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import backalley
from backalley.command import Commands
from backalley.envs.core import durable
from backalley.envs.core.base import Game
from backalley.envs.core.reading import read_json

from .fingerprint import digest_of_play
from .learned import PolicyAgent
from .players import Corrections
from .policy_file import (
    PolicyFileError,
    copy_policy,
    find_policy,
    game_of_policy,
    observation_layout,
    player_of,
    read_metadata,
)
from .shipped import FOLDER, Shipped, shipped

DIGESTS_FILE = "digests.json"


def ship(source: Path, name: str, game: Game | None = None, serves: Mapping[str, Sequence[Any]] | None = None) -> Path:
    """Copy the policy in `source`, its folder or that of its run, to the folder of its game under a name; gives the
    place.

    `serves` are values of options, by the option's name, under which it plays as well as under its own. Raises
    PolicyFileError in a sentence for a policy that nobody could make again, or that another one would hide, and
    OptionError for options it cannot serve.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise PolicyFileError(f"{name!r} is no name for a policy; it takes small letters, digits and underscores.")
    metadata = read_metadata(find_policy(source))
    game = game_of_policy(source) if game is None else game.type.bind(metadata["options"])
    _check_made(source, metadata["made"])
    for other in shipped(game):
        if other.name != name and other.is_for(game):
            raise PolicyFileError(f"{other.spec} is for the same options; take its name, or take it away first.")
    PolicyAgent(source, game)  # whatever is wrong with it is found before it is copied
    place = game.type.folder / FOLDER / name
    copy_policy(source, place, name=_title(name, metadata), serves=_served(game, serves or {}))
    write_digests(game)
    return place


def _check_made(source: Path, made: Mapping[str, Any]) -> None:
    commit = made.get("commit")
    if not isinstance(made.get("command"), str) or not isinstance(commit, str):
        raise PolicyFileError(f"The policy in {source} does not say by which command and commit it was made.")
    if commit.endswith("+changes"):
        raise PolicyFileError(
            f"The policy in {source} was made from files that no commit holds ({commit}), so nobody could make it "
            "again; commit them and train it anew."
        )


def _title(name: str, metadata: Mapping[str, Any]) -> str:
    """What tables call it: a policy that corrects a bot is called that."""
    player, spec = player_of(metadata), f"{FOLDER}:{name}"
    return f"{spec} ({player.title})" if isinstance(player, Corrections) else spec


def _served(game: Game, given: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """The values as `Game.option_values` has them, without the game's own."""
    served: dict[str, list[Any]] = {}
    for option, values in given.items():
        bound = [game.type.bind({**game.changed_options, option: value}) for value in values]
        for other in bound:
            if observation_layout(other) != observation_layout(game):
                raise PolicyFileError(
                    f"Under {option}={other.option_values[option]} {game.name} shows another observation, which the "
                    "policy cannot read."
                )
        found = [other.option_values[option] for other in bound]
        served[option] = [value for value in found if value != game.option_values[option]]
    return served


def digest(one: Shipped, game: Game) -> str:
    """The digest of a policy's actions under the options it was trained for."""
    bound = game.type.bind(one.metadata["options"])
    return digest_of_play(PolicyAgent(one.folder, bound), bound)


def write_digests(game: Game) -> Path | None:
    """Write the digests of a game's policies; the file, or None where it has no policies. Raises OSError."""
    found = {one.name: digest(one, game) for one in shipped(game)}
    path = game.type.folder / FOLDER / DIGESTS_FILE
    if not found:
        return None
    durable.write_file(path, json.dumps(found, indent=1).encode() + b"\n")
    return path


def read_digests(game: Game) -> dict[str, str]:
    """The digests by the policies' names; none where the game has no policies."""
    path = game.type.folder / FOLDER / DIGESTS_FILE
    found: dict[str, str] = read_json(path) if path.is_file() else {}
    return found


@click.group(cls=Commands)
def main() -> None:
    """Policies that come with their games."""


def _values(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, list[str]]:
    found = {}
    for item in given:
        name, sign, values = item.partition("=")
        if not sign or not name or not values:
            raise click.BadParameter(f"{item!r} is not of the form OPTION=VALUE,VALUE.", ctx, parameter)
        found[name.strip()] = [value.strip() for value in values.split(",")]
    return found


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("name")
@click.option("--game", help="The import path of a game from outside the package.")
@click.option(
    "--serves",
    multiple=True,
    metavar="OPTION=VALUE,VALUE",
    callback=_values,
    help="Values of an option under which it plays as well as under its own; may be repeated.",
)
def add(run: Path, name: str, game: str | None, serves: dict[str, list[str]]) -> None:
    """Let the policy in RUN come with its game, as NAME."""
    click.echo(f"Written to {ship(run, name, None if game is None else backalley.game(game), serves)}.")


@main.command()
@click.argument("games", nargs=-1)
def digests(games: tuple[str, ...]) -> None:
    """Write anew by what the play of the policies of GAMES, by default all, is known."""
    for name in games or backalley.game_names():
        path = write_digests(backalley.game(name))
        if path is not None:
            click.echo(f"Written to {path}.")


if __name__ == "__main__":
    main()
