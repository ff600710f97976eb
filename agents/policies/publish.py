"""Publish a trained policy with its game (`backalley dev publish`), and write the digests of policies' play (`backalley
dev digests`).

The first copies the policy to `policy/standard/` beside the game's `game.py`, with the learning curve of its run. The
second is for a change that alters how policies play, or the positions of the digest, on purpose: tests compare every
policy with the digest of its actions in `policy/digests.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backalley.envs.core.files import durable
from backalley.envs.core.game.game import Game

from .behaviour_digest import digest_of_play
from .learned import load_policy
from .policy_file import (
    PolicyFileError,
    copy_policy,
    find_policy,
    game_of_policy,
    observation_layout,
    player_of,
    read_metadata,
)
from .policy_kinds import Residual
from .pretrained import FOLDER, Pretrained, pretrained

DIGESTS_FILE = "digests.json"


def publish_policy(
    source: Path, name: str, game: Game | None = None, serves: Mapping[str, Sequence[Any]] | None = None
) -> Path:
    """Copy the policy in `source`, its folder or that of its run, to the folder of its game under a name; return the
    new folder.

    `serves` are values of options, by the option's name, under which it plays as well as under its own. Raises
    PolicyFileError for a policy that nobody could make again, or that another one would hide, and OptionError for
    options it cannot serve.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise PolicyFileError(f"{name!r} is no name for a policy; it takes small letters, digits and underscores.")
    metadata = read_metadata(find_policy(source))
    game = game_of_policy(source) if game is None else game.type.bind(metadata["options"])
    _check_made(source, metadata["made"])
    for other in pretrained(game):
        if other.name != name and other.is_for(game):
            raise PolicyFileError(f"{other.spec} is for the same options; take its name, or take it away first.")
    load_policy(source, game)  # whatever is wrong with it is found before it is copied
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
            "again; commit them and train it again."
        )


def _title(name: str, metadata: Mapping[str, Any]) -> str:
    """Its name in tables: a policy that corrects a bot has the bot's name in it."""
    player, spec = player_of(metadata), f"{FOLDER}:{name}"
    return f"{spec} ({player.title})" if isinstance(player, Residual) else spec


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


def digest(one: Pretrained, game: Game) -> str:
    """Return the digest of a policy's actions under the options it was trained for."""
    bound = game.type.bind(one.metadata["options"])
    return digest_of_play(load_policy(one.folder, bound), bound)


def write_digests(game: Game) -> Path | None:
    """Write the digests of a game's policies; return the file, or None where it has no policies. Raises OSError."""
    found = {one.name: digest(one, game) for one in pretrained(game)}
    path = game.type.folder / FOLDER / DIGESTS_FILE
    if not found:
        return None
    durable.write_file(path, json.dumps(found, indent=1).encode() + b"\n")
    return path
