"""Hyperparameters: one YAML per game over `configs/default.yaml`, then one's own by `--config FILE`, then
`--set section.name=value`; checked here, in sentences.

`default.yaml` names every setting once with its value and the reason for it; a game's own file holds only what differs.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from backalley.envs.core import options as option_rules
from backalley.envs.core.base import Game
from backalley.envs.core.options import OptionError, Written, option

from .phases import Phases

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
    symmetry: Annotated[bool, option("suits that the rules treat alike are renamed by lot, for each seat and episode")]


class Learned(IntEnum):
    """What a phase of playouts learns."""

    CORRECTIONS = 0
    GAINS = 1
    IMITATION = 2


class Base(IntEnum):
    """Whose play a phase of playouts betters."""

    BOT = 0
    SELF = 1


class Playouts(NamedTuple):
    """Policy improvement by playouts."""

    tables: Annotated[int, option("tables played at once", low=1, high=65536)]
    labels: Annotated[int, option("labels made on each table between two updates", low=1, high=4096)]
    label_share: Annotated[float, option("share of the decisions with a choice that are labelled", low=0.001, high=1)]
    own: Annotated[float, option("share of the episodes in which one seat plays the policy so far", low=0, high=1)]
    second: Annotated[float, option("share of the other seats that the second-best bot holds", low=0, high=1)]
    random: Annotated[float, option("share of them that a random player holds", low=0, high=1)]
    self_play: Annotated[float, option("share of them that the policy so far holds", low=0, high=1)]
    noise: Annotated[float, option("share of all decisions that are taken at random", low=0, high=1)]
    held_out: Annotated[int, option("tables that nothing is learned from; their episodes choose the margin", low=1)]
    reuse: Annotated[int, option("times each label is learned from", low=1, high=100)]
    batch_size: Annotated[int, option("labels in a minibatch", low=4)]
    learning_rate: Annotated[float, option("Adam's step size", low=0, high=1)]
    clip: Annotated[float, option("labels are cut off at this many of their standard deviations", low=0)]
    averaging: Annotated[
        float, option("the policy's weights are an average over about the last 1 / (averaging + 1) of the run", low=0)
    ]
    symmetry: Annotated[bool, option("suits that the rules treat alike are renamed by lot, for each label and use")]
    base: Annotated[
        Base, option("whose play is bettered, and plays on: the best bot's, or from nothing the policy's own so far")
    ]
    learned: Annotated[
        Learned,
        option("corrections of the bot, gains without being shown its action, or imitation of it alone"),
    ]
    temperature: Annotated[
        float,
        option("actions are drawn with probability proportional to exp(gain / temperature); 0 plays the best", low=0),
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


class PlansSettings(NamedTuple):
    """The phase `plans`: values of the classes of whole plans."""

    episodes: Annotated[int, option("episodes in a step", low=16, high=2**20)]
    best_bot: Annotated[float, option("share of the episodes against the strongest bot", low=0, high=1)]
    past: Annotated[float, option("share against the planner's own past", low=0, high=1)]
    other_bots: Annotated[int, option("how many bots, from the second strongest down, share the rest", low=0, high=100)]
    trace: Annotated[
        float, option("1 credits classes with outcomes alone, 0 with what the next class is taken for", low=0, high=1)
    ]
    prior: Annotated[float, option("credits that what a class was taken for before counts as", low=0)]
    averaging: Annotated[float, option("credits weigh as the number of their step to this power", low=0, high=100)]
    snapshot_every: Annotated[int, option("steps after which the planner joins its own past", low=1)]
    keep: Annotated[int, option("past selves that are drawn from", low=1, high=100)]


class Objective(IntEnum):
    """What a policy is to be good at."""

    POINTS = 0
    GAMES = 1


@dataclass(frozen=True)
class Project(Written):
    """A project of Weights & Biases, by its name."""

    name: str
    takes: ClassVar[str] = "the project's name"

    @classmethod
    def read(cls, given: Any) -> Self:
        """From its name; nothing names none. Raises ValueError in a sentence."""
        name = str(given).strip() if isinstance(given, str | int) and not isinstance(given, bool) else None
        if name is None or len(name) > 128 or not name.isprintable() or set(name) & set("/\\#?%:"):
            raise ValueError("it must be the name of a project: at most 128 characters, none of / \\ # ? % :")
        return cls(name)

    def written(self) -> str:
        """The name."""
        return self.name


class RunSettings(NamedTuple):
    """The course of a run."""

    phases: Annotated[Phases, option("how it learns, one after the other")]
    objective: Annotated[
        Objective, option("what is learned, and what gates judge by: the game's own returns, or the share of games won")
    ]
    seconds: Annotated[float, option("budget where neither --seconds nor --decisions is given", low=0)]
    checkpoint_seconds: Annotated[float, option("seconds between checkpoints", low=0)]
    log_every: Annotated[int, option("rollouts between lines of the log, in phases whose steps are short", low=1)]
    gate_deals: Annotated[int, option("deals that decide whether a phase's policy stands", low=2)]
    curve_every: Annotated[float, option("seconds of training between points of the learning curve; 0 for none", low=0)]
    curve_deals: Annotated[int, option("deals against the best bot for each of these points", low=2)]
    evaluation_deals: Annotated[int, option("deals against each bot at the end", low=2)]
    wandb: Annotated[
        Project,
        option("the project of Weights & Biases that log, curve, gates and settings also go to, or nothing"),
    ]
    greedy: Annotated[
        bool, option("the final policy plays its likeliest action; otherwise it draws, as hidden information asks for")
    ]


class Config(NamedTuple):
    """Everything that a run depends on beside game, seed and budget."""

    ppo: PPO
    playouts: Playouts
    network: Network
    league: LeagueSettings
    plans: PlansSettings
    run: RunSettings
    options: dict[str, Any]
    """Options of the game for practice alone, over those that are to be played; they may not change the observation's
    layout."""

    def as_dict(self) -> dict[str, Any]:
        """Plain names and values, as `parse` takes them."""
        return {name: option_rules.as_dict(getattr(self, name)) for name in _SECTIONS} | {"options": self.options}


_SECTIONS: dict[str, type] = {
    "ppo": PPO,
    "playouts": Playouts,
    "network": Network,
    "league": LeagueSettings,
    "plans": PlansSettings,
    "run": RunSettings,
}


class ConfigError(ValueError):
    """Hyperparameters that cannot be used; the sentence says where they stand, what was given and what is allowed."""


def load(game: Game, given: Mapping[str, Any] | None = None, overrides: Mapping[str, Any] | None = None) -> Config:
    """The hyperparameters for a game: default.yaml, the game's own file if there is one, then the sections `given`,
    then `overrides` by dotted names. Raises ConfigError."""
    raw, where = read(CONFIGS / DEFAULT), DEFAULT
    own = CONFIGS / f"{game.name}.yaml"
    if own.is_file():
        raw, where = _merge(raw, read(own)), own.name
    if given:
        check_names(given, "--config")
        raw, where = _merge(raw, given), "--config"
    config = parse(raw, where)
    if overrides:
        config = parse(functools.reduce(_set, overrides.items(), raw), "--set")
    return config._replace(options=_practice_options(game, config))


def changed(game: Game, config: Config, overrides: Mapping[str, Any]) -> Config:
    """The same hyperparameters but for `overrides` by dotted names. Raises ConfigError."""
    found = parse(functools.reduce(_set, overrides.items(), config.as_dict()), "--set")
    return found._replace(options=_practice_options(game, found))


def differences(before: Config, now: Config) -> list[tuple[str, Any, Any]]:
    """The settings in which two configs differ, by dotted names, with what they are in each; None where an option of
    the game is not named."""
    old, new = before.as_dict(), now.as_dict()
    names = [(section, name) for section in old for name in dict.fromkeys([*old[section], *new[section]])]
    pairs = [(f"{section}.{name}", old[section].get(name), new[section].get(name)) for section, name in names]
    return [one for one in pairs if one[1] != one[2]]


def read(path: Path) -> dict[str, Any]:
    """A YAML file's mapping. Raises ConfigError."""
    import yaml  # comes with the extra `train`, and what is declared here is told of without it

    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} must hold the sections {', '.join(_SECTIONS)} and options.")
    check_names(found, str(path))
    return found


def as_yaml(settings: Mapping[str, Any], head: str) -> bytes:
    """Plain names and values as a file that `read` reads, under a line of comment."""
    import yaml

    return f"# {head}\n{yaml.safe_dump(dict(settings), sort_keys=False)}".encode()


def settings() -> list[tuple[str, str]]:
    """Every setting by its dotted name, with its meaning and what it takes."""
    found = []
    for name in names():
        section, _, setting = name.partition(".")
        note = option_rules.declared(_SECTIONS[section])[setting][1]
        found.append((name, f"{note.doc}: {option_rules.choices(_SECTIONS[section], setting)}"))
    return [*found, ("options.NAME", "an option of the game, for the practice tables alone")]


def names() -> list[str]:
    """The dotted names of all settings."""
    return [f"{section}.{setting}" for section, kind in _SECTIONS.items() for setting in option_rules.declared(kind)]


def parse(raw: Mapping[str, Any], where: str) -> Config:
    """A Config from complete names and values. Raises ConfigError."""
    check_names(raw, where)
    parts = {}
    for name, kind in _SECTIONS.items():
        given = raw.get(name, {})
        missing = [setting for setting in option_rules.declared(kind) if setting not in given]
        if missing:
            raise ConfigError(f"{where}: the section {name} lacks {', '.join(missing)}.")
        try:
            parts[name] = option_rules.parse(f"{where}: {name}", kind, given, keywords=False)
        except OptionError as error:
            raise ConfigError(str(error)) from None
    return Config(**parts, options=dict(raw.get("options") or {}))


def check_names(raw: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError where a section or a setting is none of ours."""
    for section, given in raw.items():
        if section not in (*_SECTIONS, "options"):
            have = ", ".join([*_SECTIONS, "options"])
            raise ConfigError(f"{where} has no section {section!r}; it has: {have}.{_meant(str(section))}")
        if section == "options" and given is None:
            continue
        if not isinstance(given, Mapping):
            raise ConfigError(f"{where}: the section {section} is {given!r}; it must name its settings.")
        known = option_rules.declared(_SECTIONS[section]) if section != "options" else given
        for setting in given:
            if setting not in known:
                meant = _meant(f"{section}.{setting}")
                raise ConfigError(f"{where}: {section} has no setting {setting!r}; it has: {', '.join(known)}.{meant}")


def _practice_options(game: Game, config: Config) -> dict[str, Any]:
    """The practice options in plain names and values. Raises ConfigError where they are none of the game's."""
    try:
        bound = game.bind(config.options)
    except OptionError as error:
        raise ConfigError(f"The practice options of {game.name} are wrong: {error}") from None
    return {name: bound.option_values[name] for name in game.type.without_preset(config.options)}


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the settings of `over` in the place of its own, section by section."""
    return {**base, **{name: {**(base.get(name) or {}), **(given or {})} for name, given in over.items()}}


def _set(raw: Mapping[str, Any], change: tuple[str, Any]) -> dict[str, Any]:
    name, value = change
    section, _, setting = name.partition(".") if isinstance(name, str) else ("", "", "")
    if not setting or (section != "options" and name not in names()):
        have = ", ".join(names())
        raise ConfigError(
            f"There is no setting {name!r}.{_meant(str(name))} Settings are {have}, and options.NAME for the practice "
            "tables."
        )
    return {**raw, section: {**(raw.get(section) or {}), setting: value}}


def _meant(name: str) -> str:
    """` Did you mean ...?` where a name comes near one of ours; one without its section, or in a wrong one, is near."""
    section, _, setting = name.rpartition(".")
    near = [one for one in names() if one.partition(".")[2] == setting]
    if not near and section in _SECTIONS:
        known = option_rules.declared(_SECTIONS[section])
        near = [f"{section}.{one}" for one in difflib.get_close_matches(setting, known, 1)]
    if not near:
        near = difflib.get_close_matches(name, _SECTIONS if not section else [], 1)
    if not near and not section:
        parts = {one.partition(".")[2]: one for one in names()}
        near = [parts[one] for one in difflib.get_close_matches(name, parts, 1)]
    return f" Did you mean {' or '.join(near)}?" if near else ""
