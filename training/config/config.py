"""Hyperparameters: one YAML file for each game over `configs/default.yaml`, then the user's `--config FILE`, then
`--set section.name=value`; validated here.

`default.yaml` has every setting with its value and the reason for it; a game's own file has only what differs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from backalley.console.errors import InvalidValue, did_you_mean
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import options as option_rules
from backalley.envs.core.rules.options import OptionError, Written, option

from .phases import KINDS, Against, Begins, PhaseKind, Phases, Word, register_phase
from .yaml_files import load_yaml

CONFIGS = Path(__file__).resolve().parent / "configs"
DEFAULT = "default.yaml"
FROM_NOTHING = "from_nothing"
"""What files have under this name takes the place of their other settings where `rollouts.base` is `self`."""


class Precision(IntEnum):
    """The number format of matrix multiplications."""

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
    gamma: Annotated[float, option("discount per decision of the same seat", low=0, high=1)]
    gae_lambda: Annotated[float, option("lambda of generalised advantage estimation", low=0, high=1)]
    clip: Annotated[float, option("clip range of the probability ratio", low=0, high=10)]
    value_weight: Annotated[float, option("weight of the critic's loss", low=0)]
    max_grad_norm: Annotated[float, option("gradients are clipped to this norm", low=0)]
    averaging: Annotated[
        float, option("the final weights are an average over about the last 1 / (averaging + 1) of the run", low=0)
    ]
    reward_scale: Annotated[
        float, option("rewards are multiplied by this; 0 divides them by the spread of returns", low=0)
    ]
    symmetry: Annotated[bool, option("permute equivalent suits at random, for each seat and episode")]


class Learned(IntEnum):
    """What a phase of rollouts learns."""

    RESIDUAL = 0
    ADVANTAGES = 1


class Base(Word):
    """Whose play a phase of rollouts improves: `bot`, `self` or a bot's name."""

    takes: ClassVar[str] = "bot, self, or the name of one of the game's bots"


BEST, SELF = Base("bot"), Base("self")
"""The best bot that rollouts can play, and the policy itself."""


class Continues(IntEnum):
    """Who plays the rollouts that follow an action."""

    BOT = 0
    SEATED = 1


class Rollouts(NamedTuple):
    """Policy improvement by rollouts."""

    tables: Annotated[int, option("tables played at once", low=1, high=65536)]
    targets: Annotated[int, option("targets made on each table between two updates", low=1, high=4096)]
    target_share: Annotated[
        float, option("share of the decisions with a choice that are given a target", low=0.001, high=1)
    ]
    own: Annotated[float, option("share of the episodes in which one seat plays the current policy", low=0, high=1)]
    second: Annotated[float, option("share of the other seats that the second-best bot plays", low=0, high=1)]
    random: Annotated[float, option("share of them that a random player plays", low=0, high=1)]
    self_play: Annotated[float, option("share of them that the current policy plays", low=0, high=1)]
    frozen: Annotated[float, option("share of them that the agents of `against` play, who do not learn", low=0, high=1)]
    against: Annotated[
        Against, option("who these agents are: the current policy, all earlier ones of the run, or agents by name")
    ]
    continues: Annotated[
        Continues,
        option("who plays the rollouts: the best bot (or what base says), or whoever sits there; own is then 1"),
    ]
    begins: Annotated[
        Begins, option("the weights it begins from: new ones, those of a policy met or standing, or those in a folder")
    ]
    noise: Annotated[float, option("share of all decisions that are taken at random", low=0, high=1)]
    held_out: Annotated[int, option("validation tables: not learned from; their episodes choose the margin", low=0)]
    window: Annotated[
        float, option("learn from this share of all targets so far, the latest; 0 is the latest chunk", low=0, high=1)
    ]
    reuse: Annotated[int, option("how often each target is learned from, on average", low=1, high=100)]
    batch_size: Annotated[int, option("targets in a minibatch", low=4)]
    learning_rate: Annotated[float, option("Adam's step size", low=0, high=1)]
    clip: Annotated[float, option("targets are clipped at this many of their standard deviations", low=0)]
    averaging: Annotated[
        float, option("the policy's weights are an average over about the last 1 / (averaging + 1) of the run", low=0)
    ]
    symmetry: Annotated[bool, option("permute equivalent suits at random, for each target and use")]
    base: Annotated[
        Base, option("the policy that is improved and plays the rollouts: bot (the best), another bot's name, or self")
    ]
    learned: Annotated[
        Learned,
        option("a residual of the bot, or advantages without the bot's action as an input"),
    ]
    temperature: Annotated[
        float,
        option(
            "while learning, actions are drawn with probability proportional to exp(gain / temperature), in standard "
            "deviations of the targets; 0 plays the best",
            low=0,
        ),
    ]
    plays_at: Annotated[float, option("the temperature at which the policy plays from its file", low=0)]


class Network(NamedTuple):
    """The policy's network."""

    width: Annotated[int, option("units in a layer", low=1, high=65536)]
    layers: Annotated[int, option("layers of the trunk", low=1, high=64)]
    precision: Annotated[
        Precision, option("what matrices are multiplied in; auto takes bfloat16 where the processor has it")
    ]
    features: Annotated[
        bool, option("it rates each action by the features that the game declares, and does not read the observation")
    ]


class LeagueSettings(NamedTuple):
    """The learner's opponents in the league."""

    share: Annotated[float, option("share of the tables where bots and past selves play too", low=0, high=1)]
    snapshot_every: Annotated[int, option("decisions between snapshots of the learner", low=1)]
    keep: Annotated[int, option("number of past selves kept", low=1, high=1000)]
    per_rollout: Annotated[int, option("past selves met during one rollout", low=1, high=1000)]


class PlansSettings(NamedTuple):
    """The phase `plans`: learned values of the classes of plans."""

    episodes: Annotated[int, option("episodes in a step", low=16, high=2**20)]
    best_bot: Annotated[float, option("share of the episodes against the strongest bot", low=0, high=1)]
    past: Annotated[float, option("share against the planner's own past", low=0, high=1)]
    other_bots: Annotated[int, option("how many bots, from the second strongest down, share the rest", low=0, high=100)]
    trace: Annotated[
        float, option("lambda of TD(lambda): 1 credits only outcomes, 0 the value of the next class", low=0, high=1)
    ]
    prior: Annotated[float, option("how many credits a class's initial value counts as", low=0)]
    averaging: Annotated[float, option("weight of a credit: the number of its step to this power", low=0, high=100)]
    snapshot_every: Annotated[int, option("steps between snapshots of the planner", low=1)]
    keep: Annotated[int, option("number of past selves kept", low=1, high=100)]


class FictitiousPlaySettings(NamedTuple):
    """The phase `fictitious_play`: a mixture of best responses, each reckoned from what the mixture so far showed."""

    episodes: Annotated[int, option("episodes in a step, which is a round", low=16, high=2**20)]
    rounds: Annotated[int, option("responses that are kept; later steps only sharpen the last", low=1, high=200)]
    field: Annotated[Against, option("the policy of plans that gains on a field, the first table of the mixture")]
    share: Annotated[float, option("share of plans by it: 1 is its gain, 0 is safety", low=0, high=1)]


class MMDSettings(NamedTuple):
    """The phase `mmd`: magnetic mirror descent. Advantages are in units of their root mean square."""

    tables: Annotated[int, option("episodes in a step", low=1, high=65536)] = 512
    batch_size: Annotated[int, option("decisions in a minibatch", low=2)] = 1024
    epochs: Annotated[int, option("passes over the decisions of a step", low=1, high=100)] = 4
    learning_rate: Annotated[float, option("Adam's step size at first", low=0, high=1)] = 2e-3
    temperature: Annotated[float, option("weight of the divergence from uniform play at first", low=0)] = 0.2
    proximity: Annotated[float, option("weight of the divergence from the policy so far at first", low=0)] = 0.05
    halving: Annotated[int, option("updates after which temperature and step sizes are half as large", low=1)] = 200
    gae_lambda: Annotated[float, option("lambda of generalised advantage estimation", low=0, high=1)] = 0.95
    value_weight: Annotated[float, option("weight of the critic's loss", low=0)] = 0.5
    max_grad_norm: Annotated[float, option("gradients are clipped to this norm", low=0)] = 0.5
    averaging: Annotated[float, option("the policy averages the last 1 / (averaging + 1) of the run", low=0)] = 8.0


class Objective(IntEnum):
    """What a policy maximises."""

    POINTS = 0
    GAMES = 1


@dataclass(frozen=True)
class Project(Written):
    """A project of Weights & Biases, by its name, or `trackio:NAME`, one of Trackio."""

    name: str
    library: str = "wandb"
    takes: ClassVar[str] = "the project's name"

    @classmethod
    def read(cls, given: Any) -> Self:
        """From its name; an empty one means no project. Raises ValueError."""
        name = str(given).strip() if isinstance(given, str | int) and not isinstance(given, bool) else None
        library = "trackio" if name is not None and name.startswith("trackio:") else "wandb"
        name = name and name.removeprefix("trackio:")
        if name is None or len(name) > 128 or not name.isprintable() or set(name) & set("/\\#?%:"):
            raise InvalidValue("it must be the name of a project: at most 128 characters, none of / \\ # ? % :")
        return cls(name, library)

    def written(self) -> str:
        """The name."""
        return self.name if self.library == "wandb" else f"{self.library}:{self.name}"


class RunSettings(NamedTuple):
    """Settings of the whole run."""

    phases: Annotated[Phases, option("the phases of the run, in order")]
    objective: Annotated[
        Objective, option("what is learned and what gates compare: the game's returns, or the share of games won")
    ]
    seconds: Annotated[float, option("budget where neither --seconds nor --decisions is given", low=0)]
    checkpoint_seconds: Annotated[float, option("seconds between checkpoints", low=0)]
    log_every: Annotated[int, option("rollouts between lines of the log, in phases whose steps are short", low=1)]
    gate_deals: Annotated[int, option("the most deals of the gate that decides which policy is kept", low=2)]
    gate_tolerance: Annotated[
        float,
        option("how much worse a new generation may be against the best bot, in standard deviations of a deal", low=0),
    ]
    third_party: Annotated[
        Against, option("an agent that nobody trained against, which a new generation must not fare worse with")
    ]
    third_party_deals: Annotated[int, option("deals against it", low=2)]
    curve_every: Annotated[float, option("seconds of training between points of the learning curve; 0 for none", low=0)]
    curve_deals: Annotated[int, option("deals against the best bot for each of these points", low=2)]
    evaluation_deals: Annotated[int, option("deals against each bot at the end", low=2)]
    wandb: Annotated[
        Project,
        option("the project of Weights & Biases for log, curve, gates and settings, or trackio:PROJECT, or nothing"),
    ]
    greedy: Annotated[
        bool, option("the final policy plays its most likely action; otherwise it draws from its probabilities")
    ]


class Config(NamedTuple):
    """All settings that a run depends on besides game, seed and budget."""

    network: Network
    league: LeagueSettings
    run: RunSettings
    kinds: dict[str, Any]
    """The settings of each kind of phase, by its name; `config.ppo` is `config.kinds["ppo"]`."""
    options: dict[str, Any]
    """Options of the game for training tables only, over those of the game itself; they must not change the
    observation's layout."""

    def __getattr__(self, name: str) -> Any:
        if name in self.kinds:
            return self.kinds[name]
        raise AttributeError(f"There is no section {name!r} of settings.")

    @property
    def agents(self) -> list[str]:
        """The names of agents in these settings, words such as `standing` among them."""
        sections = [self.run, *self.kinds.values()]
        return [name for one in sections for value in one if isinstance(value, Against) for name in value.names]

    def as_dict(self) -> dict[str, Any]:
        """Return plain names and values, in the form that `parse` takes. A kind of phase from outside this package, or
        with the settings of another kind, is included if the run has a phase of it."""
        named = [name for name in _sections() if name not in KINDS or self._has(KINDS[name])]
        return {name: option_rules.as_dict(getattr(self, name)) for name in named} | {"options": self.options}

    def _has(self, kind: PhaseKind) -> bool:
        always = kind.ours and not kind.like
        return kind.name in self.kinds and (always or kind.name in self.run.phases.names)


for _kind in (
    PhaseKind("ppo", PPO, "backalley.training.ppo.ppo:Trainer"),
    PhaseKind("mmd", MMDSettings, "backalley.training.mmd.mmd:MMD"),
    PhaseKind("rollouts", Rollouts, "backalley.training.rollouts.rollouts:Rollouts"),
    PhaseKind("plans", PlansSettings, "backalley.training.macros.plans:PlanLearner"),
    PhaseKind("fictitious_play", FictitiousPlaySettings, "backalley.training.macros.fictitious_play:FictitiousPlay"),
    PhaseKind("attack", Rollouts, "backalley.training.rollouts.rounds:Attack", like="rollouts"),
    PhaseKind("generation", Rollouts, "backalley.training.rollouts.rounds:Generation", like="rollouts"),
):
    register_phase(_kind)


def _sections() -> dict[str, type]:
    """The settings of each section except `options`."""
    shared: dict[str, type] = {"network": Network, "league": LeagueSettings, "run": RunSettings}
    return {**{name: kind.settings for name, kind in KINDS.items()}, **shared}


class ConfigError(InvalidValue):
    """Hyperparameters that cannot be used; the message says where they are, what was given and what is allowed."""


def load(game: Game, given: Mapping[str, Any] | None = None, overrides: Mapping[str, Any] | None = None) -> Config:
    """Return the hyperparameters for a game: default.yaml (for a kind of phase that it does not have, the defaults of
    its class), then the game's own file if there is one, then the sections `given`, then `overrides` by dotted names.
    Where these say that a policy improves itself (`rollouts.base`), what both files have under FROM_NOTHING comes after
    them. Raises ConfigError."""
    own, files = CONFIGS / f"{game.name}.yaml", [read(CONFIGS / DEFAULT)]
    files += [read(own)] if own.is_file() else []
    where = own.name if own.is_file() else DEFAULT
    users = [given] if given else []
    if given:
        where = "--config"
        _check_file(given, where)
    config = _parsed([*files, *users], where, overrides)
    if config.rollouts.base == SELF:
        layers = [*files, *map(_from_nothing, files), *users, *map(_from_nothing, users)]
        config = _parsed(layers, where, overrides)
    return config._replace(options=_training_options(game, config))


def _parsed(layers: Sequence[Mapping[str, Any]], where: str, overrides: Mapping[str, Any] | None) -> Config:
    """The settings of several files, each over those before it, then of `overrides`. Raises ConfigError."""
    raw = functools.reduce(_merge, [_plain(one) for one in layers])
    config = parse(raw, where)
    return parse(functools.reduce(_set, overrides.items(), raw), "--set") if overrides else config


def _plain(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A file's settings but for those of FROM_NOTHING."""
    return {section: given for section, given in raw.items() if section != FROM_NOTHING}


def _from_nothing(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """A file's settings that hold where a policy improves itself."""
    return raw.get(FROM_NOTHING) or {}


def by_name(given: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """Return the settings of a file by dotted names, as far as they hold in these."""
    found = _merge(_plain(given), _from_nothing(given) if config.rollouts.base == SELF else {})
    return {f"{section}.{name}": value for section, named in found.items() for name, value in (named or {}).items()}


def read(path: Path) -> dict[str, Any]:
    """Return a YAML file's mapping. Raises ConfigError."""
    try:
        found = load_yaml(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise ConfigError(f"{path} cannot be read as YAML: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} must hold the sections {', '.join(_sections())} and options.")
    _check_file(found, str(path))
    return found


def settings() -> list[tuple[str, str]]:
    """Return every setting by its dotted name, with its meaning and what it takes."""
    found = []
    for name in names():
        section, _, setting = name.partition(".")
        if section in KINDS and KINDS[section].like:
            continue
        note = option_rules.declared(_sections()[section])[setting][1]
        found.append((name, f"{note.doc}: {option_rules.choices(_sections()[section], setting)}"))
    alike = [
        (f"{kind.name}.NAME", f"{kind.like}.NAME for phases of the kind {kind.name}; some have other defaults")
        for kind in KINDS.values()
        if kind.like
    ]
    return [*found, *alike, ("options.NAME", "an option of the game, for the training tables only")]


def names() -> list[str]:
    """Return the dotted names of all settings."""
    return [f"{section}.{setting}" for section, kind in _sections().items() for setting in option_rules.declared(kind)]


def parse(raw: Mapping[str, Any], where: str) -> Config:
    """Return a Config from complete names and values. Raises ConfigError."""
    check_names(raw, where)
    parts = {}
    for name, kind in _sections().items():
        given = {**_defaults(name, raw), **(raw.get(name) or {})}
        missing = [setting for setting in option_rules.declared(kind) if setting not in given]
        if missing:
            raise ConfigError(f"{where}: the section {name} lacks {', '.join(missing)}.")
        try:
            parts[name] = option_rules.parse(f"{where}: {name}", kind, given, what="setting")
        except OptionError as error:
            raise ConfigError(str(error)) from None
    kinds = {name: parts.pop(name) for name in KINDS}
    return Config(**parts, kinds=kinds, options=dict(raw.get("options") or {}))


def _defaults(section: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The values of settings that a section leaves out: those of its class; for a kind of phase like another, the
    present ones of that kind under what default.yaml has for this one."""
    kind = KINDS.get(section)
    if kind is None or not kind.like:
        return kind.defaults if kind else {}
    return {**(raw.get(kind.like) or {}), **read(CONFIGS / DEFAULT)[section]}


def check_names(raw: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError for an unknown section or setting."""
    for section, given in raw.items():
        if section not in (*_sections(), "options"):
            have = ", ".join([*_sections(), "options"])
            raise ConfigError(f"{where} has no section {section!r}; it has: {have}.{_meant(str(section))}")
        if section == "options" and given is None:
            continue
        if not isinstance(given, Mapping):
            raise ConfigError(f"{where}: the section {section} is {given!r}; it must name its settings.")
        known = option_rules.declared(_sections()[section]) if section != "options" else given
        for setting in given:
            if setting not in known:
                meant = _meant(f"{section}.{setting}")
                raise ConfigError(f"{where}: {section} has no setting {setting!r}; it has: {', '.join(known)}.{meant}")


def _check_file(raw: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError for an unknown section or setting in a file."""
    check_names(_plain(raw), where)
    if not isinstance(_from_nothing(raw), Mapping):
        raise ConfigError(f"{where}: {FROM_NOTHING} is {raw[FROM_NOTHING]!r}; it must hold sections of settings.")
    check_names(_from_nothing(raw), f"{where}: {FROM_NOTHING}")


def _training_options(game: Game, config: Config) -> dict[str, Any]:
    """The training tables' options as plain names and values. Raises ConfigError where the game does not have them."""
    try:
        bound = game.bind(config.options)
    except OptionError as error:
        raise ConfigError(f"The training options of {game.name} are wrong: {error}") from None
    return {name: bound.option_values[name] for name in game.type.without_preset(config.options)}


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the settings of `over` in place of its own, section by section."""
    return {**base, **{name: {**(base.get(name) or {}), **(given or {})} for name, given in over.items()}}


def _set(raw: Mapping[str, Any], change: tuple[str, Any]) -> dict[str, Any]:
    name, value = change
    section, _, setting = name.partition(".") if isinstance(name, str) else ("", "", "")
    if not setting or (section != "options" and name not in names()):
        have = ", ".join(names())
        raise ConfigError(
            f"There is no setting {name!r}.{_meant(str(name))} Settings are {have}, and options.NAME for the training "
            "tables."
        )
    return {**raw, section: {**(raw.get(section) or {}), setting: value}}


def _meant(name: str) -> str:
    """` Did you mean ...?` for a name close to a known one; a name without its section, or in a wrong one, is close."""
    section, _, setting = name.rpartition(".")
    same = [one for one in names() if one.partition(".")[2] == setting]
    if same:
        return f" Did you mean {' or '.join(same)}?"
    if section:
        known = option_rules.declared(_sections()[section]) if section in _sections() else ()
        return did_you_mean(setting, known, lambda one: f"{section}.{one}")
    parts = {one.partition(".")[2]: one for one in names()}
    return did_you_mean(name, _sections()) or did_you_mean(name, parts, parts.__getitem__)
