"""Hyperparameters: one YAML per game over `configs/default.yaml`, then `--set section.name=value`; checked here, in
sentences.

`default.yaml` names every setting once with its value and the reason for it; a game's own file holds only what differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml

from backalley.envs.core import options as option_rules
from backalley.envs.core.base import Game
from backalley.envs.core.options import OptionError, option

CONFIGS = Path(__file__).resolve().parent / "configs"
DEFAULT = "default.yaml"


class Precision(IntEnum):
    """What matrices are multiplied in."""

    AUTO = 0
    FLOAT32 = 1
    BFLOAT16 = 2


class PPO(NamedTuple):
    """The algorithm."""

    tables: Annotated[int, option("tables played at once", low=1, high=65536)]
    steps: Annotated[int, option("decisions on each table in a rollout", low=2, high=65536)]
    batch_size: Annotated[int, option("samples in a minibatch", low=2)]
    epochs: Annotated[int, option("passes over a rollout", low=1, high=100)]
    learning_rate: Annotated[float, option("Adam's step size", low=0, high=1)]
    entropy: Annotated[float, option("weight of the entropy bonus", low=0)]
    gamma: Annotated[float, option("discount per decision of one's own", low=0, high=1)]
    gae_lambda: Annotated[float, option("how far advantages look ahead", low=0, high=1)]
    clip: Annotated[float, option("how far a probability ratio may move and still count", low=0, high=10)]
    value_weight: Annotated[float, option("weight of the critic's loss", low=0)]
    max_grad_norm: Annotated[float, option("gradients are cut down to this length", low=0)]
    averaging: Annotated[
        float, option("the final weights are an average over about the last 1 / (averaging + 1) of the run", low=0)
    ]
    reward_scale: Annotated[
        float, option("rewards are multiplied by this; 0 divides them by the spread of returns", low=0)
    ]


class Network(NamedTuple):
    """The policy's network."""

    width: Annotated[int, option("units in a layer", low=1, high=65536)]
    layers: Annotated[int, option("layers of the trunk", low=1, high=64)]
    precision: Annotated[
        Precision, option("what matrices are multiplied in; auto takes bfloat16 where the processor has it")
    ]


class LeagueSettings(NamedTuple):
    """Whom the learner meets beside itself."""

    share: Annotated[float, option("share of the tables where bots and past selves sit in", low=0, high=1)]
    snapshot_every: Annotated[int, option("decisions after which the learner joins its own past", low=1)]
    keep: Annotated[int, option("past selves that are drawn from", low=1, high=1000)]
    per_rollout: Annotated[int, option("past selves met during one rollout", low=1, high=1000)]


class RunSettings(NamedTuple):
    """The course of a run."""

    seconds: Annotated[float, option("budget where neither --seconds nor --decisions is given", low=0)]
    checkpoint_seconds: Annotated[float, option("seconds between checkpoints", low=0)]
    log_every: Annotated[int, option("rollouts between lines of the log", low=1)]
    evaluation_deals: Annotated[int, option("deals against each bot at the end", low=2)]
    greedy: Annotated[
        bool, option("the final policy plays its likeliest action; otherwise it draws, as hidden information asks for")
    ]


class Config(NamedTuple):
    """Everything that a run depends on beside game, seed and budget."""

    ppo: PPO
    network: Network
    league: LeagueSettings
    run: RunSettings
    options: dict[str, Any]
    """Options of the game for practice alone, over those that are to be played; they may not change the observation's
    layout."""

    def as_dict(self) -> dict[str, Any]:
        """Plain names and values, as `parse` takes them."""
        return {name: option_rules.as_dict(getattr(self, name)) for name in _SECTIONS} | {"options": self.options}


_SECTIONS: dict[str, type] = {"ppo": PPO, "network": Network, "league": LeagueSettings, "run": RunSettings}


class ConfigError(ValueError):
    """Hyperparameters that cannot be used; the sentence says where they stand, what was given and what is allowed."""


def load(game: Game, overrides: Mapping[str, Any] | None = None) -> Config:
    """The hyperparameters for a game: default.yaml, the game's own file if there is one, then `overrides` by dotted
    names."""
    raw = read(CONFIGS / DEFAULT)
    own = CONFIGS / f"{game.name}.yaml"
    where = DEFAULT
    if own.is_file():
        raw, where = _merge(raw, read(own), own.name), own.name
    config = parse(raw, where)
    if overrides:
        for name, value in overrides.items():
            raw = _set(raw, name, value)
        config = parse(raw, "--set")
    check_options(game, config)
    return config


def read(path: Path) -> dict[str, Any]:
    """A YAML file's mapping. Raises ConfigError."""
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read as YAML: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} must hold the sections {', '.join(_SECTIONS)} and options.")
    return found


def parse(raw: Mapping[str, Any], where: str) -> Config:
    """A Config from complete names and values. Raises ConfigError."""
    unknown = set(raw) - set(_SECTIONS) - {"options"}
    if unknown:
        raise ConfigError(
            f"{where} has no section {sorted(map(str, unknown))[0]!r}; it has: {', '.join(_SECTIONS)}, options."
        )
    parts = {}
    for name, kind in _SECTIONS.items():
        given = raw.get(name)
        if not isinstance(given, Mapping):
            raise ConfigError(f"{where}: the section {name} is {given!r}; it must name its settings.")
        missing = [setting for setting in option_rules.declared(kind) if setting not in given]
        if missing:
            raise ConfigError(f"{where}: the section {name} lacks {', '.join(missing)}.")
        try:
            parts[name] = option_rules.parse(f"{where}: {name}", kind, given)
        except OptionError as error:
            raise ConfigError(str(error)) from None
    options = raw.get("options") or {}
    if not isinstance(options, Mapping):
        raise ConfigError(f"{where}: options is {options!r}; it must name options of the game.")
    return Config(**parts, options=dict(options))


def check_options(game: Game, config: Config) -> None:
    """Raise ConfigError where the practice options are none of the game's."""
    try:
        game.bind(config.options)
    except OptionError as error:
        raise ConfigError(f"The practice options of {game.name} are wrong: {error}") from None


def _merge(base: Mapping[str, Any], over: Mapping[str, Any], where: str) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        if name == "options" or not isinstance(value, Mapping) or not isinstance(merged.get(name), Mapping):
            merged[name] = value
        else:
            merged[name] = {**merged[name], **value}
    return merged


def _set(raw: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    section, dot, setting = name.partition(".")
    if not dot or section not in (*_SECTIONS, "options"):
        known = [f"{part}.{one}" for part, kind in _SECTIONS.items() for one in option_rules.declared(kind)]
        raise ConfigError(
            f"There is no setting {name!r}; settings are {', '.join(known)}, and options.NAME for the practice tables."
        )
    return {**raw, section: {**(raw.get(section) or {}), setting: value}}
