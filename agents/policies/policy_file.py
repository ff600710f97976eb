"""A policy on disk: a folder with `policy.safetensors` (the weights) and `policy.json` (what they are and how they were
made).

Nothing in it can execute code: no pickles. The JSON has the digests of the weights and of itself, so a truncated,
mixed-up or edited policy is refused before a single weight is used. (A digest finds accidents and hasty edits; it is no
signature.)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from backalley.console.errors import NAME, InvalidValue, is_name
from backalley.envs.core.files import durable, reading
from backalley.envs.core.game.catalogue import game_names, game_type
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.rules.options import OptionError

from . import policy_kinds
from .inference import FeatureRows
from .policy_kinds import Arrays, Player

FORMAT = 4
JSON_FILE, WEIGHTS_FILE = "policy.json", "policy.safetensors"
CURVE_JSON, CURVE_KIND = "curve.json", "learning curve"
"""The learning curve of a run, beside its policy's folder (for a pretrained policy, inside it), and its kind."""
RUN_FILE, CURVE_FILE, EVALUATION_FILE = "run.json", "curve.csv", "evaluation.json"
"""In the folder of a run: what it follows from, the curve so far, and the tables at its end."""
_KINDS = {"name": str, "game": str, "found_by": str, "version": int, "options": dict, "actions": int}
_KINDS |= {"observation": list, "player": dict, "weights": dict, "made": dict}


class PolicyFileError(InvalidValue):
    """A policy that cannot be loaded; the message says which, why, and what to do."""


def observation_layout(game: Game) -> list[dict[str, Any]]:
    """Return every field of the observation, in order: name, type, shape and bounds. Two layouts are equal if all of
    that is equal."""
    return [
        {
            "field": name,
            "type": place.code,
            "shape": list(place.shape),
            "low": place.low,
            "high": place.high,
        }
        for name, place in game.observation_fields.items()
    ]


def observation_bound(game: Game) -> npt.NDArray[np.float64]:
    """Return the greatest absolute value of each number of the flat observation [O]; networks divide their input by
    it."""
    low, high = game.observation_bounds
    bound: npt.NDArray[np.float64] = np.maximum(np.abs(low.astype(np.float64)), np.abs(high.astype(np.float64)))
    return bound


def save_policy(
    folder: Path, arrays: Arrays, game: Game, *, name: str, player: Player, made: Mapping[str, Any]
) -> None:
    """Write a policy, wholly or not at all; its arrays are rounded to half precision.

    `player` says how `arrays` are played (`policy_kinds.py`); only the arrays it needs are written, with the means of
    the features that it rates actions by. `made` says how it was made, in whatever JSON can hold. Raises OSError, and
    PolicyFileError for numbers that half precision cannot hold.
    """
    features = policy_kinds.features_of(player, game)
    arrays = {**arrays, "features": FeatureRows(game, features).means()} if features else arrays
    packed = save_tensors({name: _half(name, arrays[name]) for name in player.shapes(game)})
    metadata: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "game": game.name,
        "found_by": game.spec,
        "version": game.version,
        "options": game.option_values,
        "seats": game.num_seats,
        "actions": game.num_actions,
        "observation": observation_layout(game),
        "player": policy_kinds.to_json(player),
        "weights": {"file": WEIGHTS_FILE, "bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()},
        "made": dict(made),
    }
    _write(folder, metadata, packed, {})


def copy_policy(source: Path, folder: Path, *, name: str, serves: Mapping[str, Sequence[Any]]) -> None:
    """Write the policy in `source` to `folder` under another name, wholly or not at all, with the learning curve of its
    run if there is one, up to the policy.

    `serves` says, by the option's name, for which values besides its own the policy is suitable. Raises PolicyFileError
    for a policy that is damaged, and OSError.
    """
    source = find_policy(source)
    metadata = read_metadata(source)
    _read_weights(source, metadata)
    served = {option: list(values) for option, values in serves.items() if values}
    curves = (place / CURVE_JSON for place in (source, source.resolve().parent))
    more = next(({CURVE_JSON: _curve_until(path, metadata["made"])} for path in curves if path.is_file()), {})
    weights = reading.file_bytes(source / WEIGHTS_FILE, reading.TENSOR_BYTES)
    _write(folder, {**metadata, "format": FORMAT, "name": name, "serves": served}, weights, more)


def _curve_until(path: Path, made: Mapping[str, Any]) -> bytes:
    """A learning curve up to the policy that was `made`: a run may go on after it, with attacks on it or with phases
    whose policies its gates refuse. The end of the policy's command says after how many decisions it was made. Raises
    PolicyFileError."""
    try:
        found = reading.read_json(path)
        decisions = re.findall(r"--decisions ([\d,]+)", str(made.get("command")))
        if decisions and found["command"] != made["command"]:
            until = sum(int(number) for number in decisions[-1].split(","))
            points = [point for point in found["points"] if point["decisions"] <= until]
            found |= {"command": made["command"], "points": points}
    except (ValueError, TypeError, KeyError) as error:
        raise PolicyFileError(f"The learning curve {path} cannot be read: {error}.") from None
    return json.dumps(found, indent=1).encode() + b"\n"


def _write(folder: Path, metadata: dict[str, Any], packed: bytes, more: Mapping[str, bytes]) -> None:
    signed = {**metadata, "sha256": _metadata_digest(metadata)}
    files = {WEIGHTS_FILE: packed, JSON_FILE: json.dumps(signed, indent=1).encode() + b"\n"}
    durable.write_folder(folder, {**files, **more})


def _half(name: str, weights: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    greatest, most = np.abs(weights).max(initial=0), float(np.finfo(np.float16).max)
    if greatest > most:
        raise PolicyFileError(
            f"The weights {name} go up to {greatest:g}, and a policy's file holds up to {most:g}; training went astray."
        )
    return weights.astype(np.float16)


def find_policy(folder: Path) -> Path:
    """Return the folder that holds `policy.json`: `folder` itself, or the final policy of a training run in
    `folder`."""
    try:
        reading.check_path(folder)
    except OSError as error:
        raise PolicyFileError(f"There is no policy in {error.filename!r}: no file can have such a name.") from None
    for place in (folder, folder / "policy"):
        durable.recover(place.resolve())
        if (place / JSON_FILE).is_file():
            return place
    raise PolicyFileError(f"There is no policy in {folder}: neither it nor {folder / 'policy'} has a {JSON_FILE}.")


def read_policy(folder: Path, game: Game) -> tuple[dict[str, npt.NDArray[np.float32]], dict[str, Any]]:
    """Return the weights, widened to single precision, and the JSON of a policy that plays `game`.

    Its options may differ from those of its training if the observation's layout is the same. Raises PolicyFileError.
    """
    folder = find_policy(folder)
    metadata = read_metadata(folder)
    _check_game(folder, metadata, game)
    weights = _read_weights(folder, metadata)
    try:
        expected = player_of(metadata).shapes(game)
    except ValueError as error:  # a network of a user's own kind that is not known here, or no longer like this
        raise PolicyFileError(f"The policy in {folder} cannot be played. {error}") from None
    if {name: (array.shape, array.dtype) for name, array in weights.items()} != {
        name: (shape, np.dtype(np.float16)) for name, shape in expected.items()
    }:
        raise PolicyFileError(
            f"The weights in {folder} are of another shape than its {JSON_FILE} says; get the policy again."
        )
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise PolicyFileError(
            f"The weights in {folder} hold numbers that are not finite, so they play nothing; get the policy again."
        )
    return {name: array.astype(np.float32) for name, array in weights.items()}, metadata


def player_of(metadata: Mapping[str, Any]) -> Player:
    """Return how a policy is played, from its JSON."""
    return policy_kinds.from_json(metadata["player"])


def game_of_policy(folder: Path) -> Game:
    """Return the game that a policy was trained for, under its options. Raises PolicyFileError.

    Only this package's games and registered ones are found: a file from somebody else must not choose what Python
    imports.
    """
    folder = find_policy(folder)
    metadata = read_metadata(folder)
    name = metadata["game"]
    if name not in game_names():
        hint = f" (it was {metadata['found_by']})" if metadata["found_by"] != name else ""
        raise PolicyFileError(
            f"The policy in {folder} plays {name}, which is no game of this package; name the game, too{hint}."
        )
    found = game_type(name)
    _check_version(folder, metadata, found)
    return trained_game(folder, metadata, found)


def trained_game(folder: Path, metadata: Mapping[str, Any], found: GameType) -> Game:
    """Return the game under the options of a policy's training. Raises PolicyFileError where it no longer has them."""
    try:
        return found.bind(metadata["options"])
    except OptionError as error:
        raise PolicyFileError(f"The policy in {folder} was trained under options that are none here: {error}") from None


def _metadata_digest(metadata: dict[str, Any]) -> str:
    rest = {name: value for name, value in metadata.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def read_metadata(folder: Path) -> dict[str, Any]:
    """Return the JSON of the policy in `folder`, checked against its own digest. Raises PolicyFileError."""
    path = folder / JSON_FILE
    try:
        metadata = reading.read_json(path)
    except OSError as error:
        raise PolicyFileError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise PolicyFileError(f"{path} describes no policy: {error}; get the policy again.") from None
    if not isinstance(metadata, dict) or "format" not in metadata:
        raise PolicyFileError(f"{path} is JSON, but does not describe a policy of Back Alley.")
    if metadata["format"] != FORMAT:
        raise PolicyFileError(
            f"{path} is of format {metadata['format']!r}; this version of Back Alley reads format {FORMAT}."
        )
    if metadata.get("sha256") != _metadata_digest(metadata):
        raise PolicyFileError(
            f"{path} was changed after it was written: its digest does not match its contents; get the policy again."
        )
    for name, kind in _KINDS.items():
        if not isinstance(metadata.get(name), kind):
            raise PolicyFileError(f"{path} lacks a proper {name!r}; get the policy again.")
    if not is_name(metadata["name"]):
        raise PolicyFileError(f"{path} lacks a proper 'name': it is a line of up to {NAME} characters.")
    serves = metadata.setdefault("serves", {})  # pretrained policies may have some
    if not isinstance(serves, dict) or not all(isinstance(values, list) for values in serves.values()):
        raise PolicyFileError(f"{path} lacks a proper 'serves'; get the policy again.")
    try:
        policy_kinds.from_json(metadata["player"])
    except ValueError as error:
        raise PolicyFileError(f"{path} {error}; get the policy again.") from None
    return metadata


def _check_game(folder: Path, metadata: dict[str, Any], game: Game) -> None:
    if metadata["game"] != game.name:
        raise PolicyFileError(f"The policy in {folder} plays {metadata['game']}, not {game.name}.")
    _check_version(folder, metadata, game)
    layout = observation_layout(game)
    if metadata["observation"] != layout or metadata["actions"] != game.num_actions:
        here, there = _names(layout), _names(metadata["observation"])
        odd = sorted(here ^ there)
        which = f" They differ in {', '.join(odd)}." if odd else ""
        raise PolicyFileError(
            f"The policy in {folder} reads another observation layout of {game.id} than these options give; "
            f"use the options it was trained with ({metadata['options']}), or train it again.{which}"
        )
    trained = trained_game(folder, metadata, game.type)
    if metadata["observation"] != observation_layout(trained) or metadata["actions"] != trained.num_actions:
        raise PolicyFileError(
            f"{folder / JSON_FILE} contradicts itself: {game.id} shows something else under the options that it says "
            "the policy was trained with; get the policy again."
        )


def _check_version(folder: Path, metadata: dict[str, Any], game: Game | GameType) -> None:
    if metadata["version"] != game.version:
        made, now = f"{game.name}-v{metadata['version']}", game.id
        raise PolicyFileError(
            f"The policy in {folder} was trained on {made}, and the rules here are {now}; train it again."
        )


def _names(layout: list[Any]) -> set[str]:
    return {
        f"{item.get('field')} {item.get('shape')} up to {item.get('high')}" for item in layout if isinstance(item, dict)
    }


def _read_weights(folder: Path, metadata: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
    path = folder / WEIGHTS_FILE
    try:
        data = reading.file_bytes(path, reading.TENSOR_BYTES)
    except OSError as error:
        raise PolicyFileError(f"{path} cannot be read: {error.strerror}.") from None
    stated = metadata["weights"]
    if len(data) != stated.get("bytes"):
        size = f"{path} has {len(data)} bytes and should have {stated.get('bytes')}"
        raise PolicyFileError(f"{size}: it is truncated or foreign; get the policy again.")
    if hashlib.sha256(data).hexdigest() != stated.get("sha256"):
        raise PolicyFileError(
            f"{path} is not what {JSON_FILE} beside it was written for: the digests differ; get the policy again."
        )
    try:
        weights: dict[str, npt.NDArray[Any]] = load_tensors(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise PolicyFileError(f"{path} is no safetensors file: {error}") from None
    return weights
