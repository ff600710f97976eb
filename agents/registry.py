"""Agents by name: `PREFIX[:PART...]`, the folder of a trained policy, or a user's own: `module:Class`, `file.py:Class`.

The prefixes: `random`, `human`, `bot[:BOT]`, `policy[:NAME]`, `plans` (a game's planner before it has learned
anything), `search[:DETERMINIZATIONS[:MILLISECONDS]]`, `search+AGENT[:DETERMINIZATIONS[:MILLISECONDS]]` (AGENT, which is
`policy`, a bot or the folder of a policy, plays the rollouts), `mc:DETERMINIZATIONS[:MILLISECONDS]`, `card:FILE` (a
strategy card), `level:N` (players of several strengths), `sb3:FILE`, `cmd:PROGRAM` and `llm:URL#MODEL` (`programs/`),
and those of `register_agent`.
`PHASE=AGENT,PHASE=AGENT` plays each phase that the game declares as another agent.

The signature of a prefix's factory, or of a user's class or function, says what may follow it. The game comes first, if
the first argument has no default. The parts of the name, separated by colons, come after it: `file.py:Class:96:5` calls
`Class(game, 96, 5)`. A part is passed as text if the argument is annotated `str`, otherwise as a number if it is one.
The keyword-only arguments `num_threads` (0: every core) and `player` (the agent in `PREFIX+AGENT`) are passed if the
signature has them.

A name always means its agent, even if a folder has the same name: that folder is `./policy`, or a Path.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from backalley.console.errors import BackAlleyError, InvalidType, InvalidValue, did_you_mean, one_line, shortly
from backalley.envs.core.game import arguments
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType

from .base.agent import POLICY, Agent, as_agent, name_of
from .base.rule_based import BotAgent, RandomAgent

# What makes the other agents is imported where one is named: most matches seat few kinds.

_OWN_FORMS = "file.py:Class or module:Class"
_PART = re.compile(r"(?:^|,)([a-z_]+)=")
_NUMBER = re.compile(r"[0-9.]+")
_FORMS = (
    "the folder of a trained policy, card:FILE, module:Class, file.py:Class, cmd:PROGRAM, llm:URL#MODEL or "
    "sb3:model.zip"
)


def agent(spec: Any, game: str | Game | GameType, *, num_threads: int = 0) -> Agent:
    """Return the agent named `spec`, ready to play `game`.

    `spec` is one of the names above, a Path, or an object with `act(view)`, which is used as it is. A search takes
    `num_threads`, by default every core. Raises ValueError, or TypeError for what is not an agent at all.

    >>> agent("bot", "pitch").name
    'bot:book'
    """
    game, num_threads = game_of(game), arguments.count(num_threads, "num_threads", 0)
    if not isinstance(spec, (str, Path)):
        return as_agent(spec)
    if isinstance(spec, Path):
        return _policy(spec, game)
    if parts := _phases(spec):
        _check_phases(spec, parts, game)
        from .base.by_phase import PhaseAgent

        return PhaseAgent(game, {phase: agent(one, game, num_threads=num_threads) for phase, one in parts.items()})
    prefix, plus, _ = spec.partition(":")[0].partition("+")
    if prefix in _makers() and (not plus or "player" in _factory(prefix).keywords):
        return _by_prefix(prefix, spec.removeprefix(prefix), game, num_threads)
    if Path(spec).is_dir():
        return _policy(Path(spec), game)
    if ":" in spec:
        return custom_agent(spec, game, num_threads, did_you_mean(prefix, _makers()))
    names = named(game)
    meant = did_you_mean(
        spec, [*names, *game.bots, *_makers()], lambda name: f"bot:{name}" if name in game.bots else name
    )
    forms = [form for prefix in ("search", "mc", *_registered) for form in _forms(prefix)]
    raise InvalidValue(f"There is no agent {spec!r}; an agent is {', '.join([*names, *forms])}, {_FORMS}.{meant}")


def runs_code(spec: str) -> bool:
    """Return whether to make the agent of this name runs what is not part of this package: a module, a file, a program,
    or a server's address. What `register_agent` knows has been imported by the caller already."""
    if parts := _phases(spec):
        return any(map(runs_code, parts.values()))
    prefix, plus, rest = spec.partition(":")[0].partition("+")
    if plus and prefix in _makers():
        return runs_code(rest + spec.removeprefix(f"{prefix}+{rest}"))
    return prefix in ("cmd", "llm") or (prefix not in _makers() and ":" in spec and not Path(spec).is_dir())


def _phases(spec: str) -> dict[str, str]:
    """Return the agents' names of `PHASE=AGENT,PHASE=AGENT`, by phase; empty for a name of another form."""
    if not re.match(_PART, spec):
        return {}
    words = re.split(_PART, spec)[1:]
    return dict(zip(words[::2], words[1::2], strict=True))


def _check_phases(spec: str, given: Mapping[str, str], game: Game) -> None:
    """Raise ValueError where these are not the game's phases, each once."""
    phases, said = list(game.type.phases), [found[1] for found in re.finditer(_PART, spec)]
    if not phases:
        raise InvalidValue(f"The agent {spec!r} names phases, and {game.name} declares none; name one agent.")
    if sorted(said) != sorted(phases) or not all(given.values()):
        form = ",".join(f"{phase}=AGENT" for phase in phases)
        raise InvalidValue(f"The agent {spec!r} cannot be read; one by phase of {game.name} has the form {form}.")


def register_agent(prefix: str, factory: Callable[..., Any]) -> None:
    """Register agents named `PREFIX`, and `PREFIX:...` with what their factory takes, wherever an agent is named.

    `factory` is a class, or a function, that makes an object with `act(view)`. It is called with the game, if its first
    argument has no default, and with the parts after the prefix, separated by colons: `mine:96:5` calls `factory(game,
    96, 5)`. A part is text if the argument is annotated `str`, otherwise a number if it is one. A keyword-only argument
    `num_threads` gets the threads that a search may use (0: every core). With a keyword-only argument `player`, agents
    can also be named `PREFIX+AGENT:...`, and it gets that agent, or None.

    A prefix is known in this process. Another process, such as the command line, knows it once it has imported the
    module that registers it; `module:Class:96` works everywhere. The same factory, defined again, replaces the earlier
    one. Raises ValueError for a prefix that is taken or not a word, TypeError for a factory that cannot be called.

    >>> class Last:
    ...     def act(self, view):
    ...         return view.action_mask.shape[1] - 1 - view.action_mask[:, ::-1].argmax(1)
    >>> register_agent("last", Last)
    >>> agent("last", "pitch").name
    'Last'
    """
    if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", prefix):
        raise InvalidValue(f"The prefix is {prefix!r}; it takes a letter, then letters, digits, _ and -.")
    if not callable(factory):
        raise InvalidType(f"The factory of {prefix} is {factory!r}; it is a class or a function that makes an agent.")
    if prefix in _OWN or _place(_registered.get(prefix, factory)) != _place(factory):
        raise InvalidValue(f"There are agents named {prefix!r} already; take another prefix.")
    _registered[prefix] = factory


def _place(factory: Any) -> Any:
    """Where a factory was defined; the factory itself if it does not say."""
    return (factory.__module__, factory.__qualname__) if hasattr(factory, "__qualname__") else factory


def _by_prefix(prefix: str, rest: str, game: Game, num_threads: int) -> Agent:
    """The agent of a prefix, `rest` being `:PARTS` or `+AGENT:PARTS`: numbers at its end belong to the prefix, since
    AGENT may have a colon itself. Raises ValueError."""
    factory, player, parts = _factory(prefix), None, rest.split(":")[1:]
    if rest.startswith("+"):
        words, parts = rest[1:].split(":"), []
        while len(words) > 1 and _NUMBER.fullmatch(words[-1]):
            parts.insert(0, words.pop())
        if words[0] == POLICY:  # that of the game: results do not tell another one's name
            words, parts = words[:1], words[1:] + parts
        name = ":".join(words)
        if not name or name.startswith(f"{prefix}+"):
            raise InvalidValue(
                f"{prefix}{rest} names no agent for rollouts; name a bot or a policy, as in {prefix}+bot:96."
            )
        factory = _factory(prefix, f"{prefix}+{name}")
        player = agent(name, game, num_threads=num_threads)
    if prefix in _registered:
        return _third_party(factory, parts, game, num_threads, player)
    made: Agent = factory.make(parts, game, num_threads, player)
    return made


def _makers() -> list[str]:
    return [*_OWN, *_registered]


def _factory(prefix: str, name: str = "") -> Factory:
    return Factory(name or prefix, _registered[prefix] if prefix in _registered else _OWN[prefix]())


def _forms(prefix: str) -> list[str]:
    """The forms of a prefix's names."""
    found = _factory(prefix)
    return [found.form, *([_factory(prefix, f"{prefix}+AGENT").form] if "player" in found.keywords else [])]


def named(game: Game) -> list[str]:
    """Return the agents of a game that have a plain name, including its bots, levels, planner and policies."""
    from .base.level import names as levels
    from .policies import pretrained

    bots = [*(["bot"] if game.bots else []), *(f"bot:{name}" for name in game.bots)]
    policies = pretrained.names(game)
    plans = ["plans"] if game.type.plans is not None else []
    named_policies = [*([POLICY] if policies else []), *(f"policy:{name}" for name in policies)]
    return ["random", "human", *bots, *levels(game), *plans, *named_policies]


def _pretrained(game: Game, name: str | None) -> Path:
    """The folder of a pretrained policy of the game. Raises ValueError."""
    from .policies import pretrained

    try:
        return pretrained.policy_for(game, name).folder
    except pretrained.NoPolicy as error:
        here = Path(POLICY)
        hint = f" (The folder of that name here is ./{here}.)" if name is None and here.is_dir() else ""
        raise pretrained.NoPolicy(f"{error}{hint}") from None


def _policy(folder: Path, game: Game) -> Agent:
    from .policies.learned import load_policy

    return load_policy(folder, game)


def _policy_of(game: Game, name: str | None = None) -> Agent:
    return _policy(_pretrained(game, name), game)


def _plans(game: Game) -> Agent:
    from .policies.planner import PlannerAgent

    return PlannerAgent(game)


def _person() -> Agent:
    from .people.human import HumanAgent

    return HumanAgent()


def _search() -> Callable[..., Any]:
    from .search.racing import RacingAgent

    return RacingAgent


def _monte_carlo() -> Callable[..., Any]:
    from .search.flat_monte_carlo import SearchAgent

    return SearchAgent


def _card() -> Callable[..., Any]:
    from .base.card import card_agent

    def card(game: Game, file: str, *more: str) -> Agent:
        return card_agent(game, file, *more, based_on=card_base)

    return card


def card_base(game: Game, name: str) -> Agent:
    """Return the agent that plays where a card of the game does not decide: one of `named`, since a file may choose no
    other. Raises ValueError, in a clause."""
    known = [one for one in named(game) if one != "human"]
    if name not in known:
        raise InvalidValue(f"its base is {shortly(name)}; it takes one of {', '.join(known)}")
    return agent(name, game)


def _level() -> Callable[..., Any]:
    from .base.level import level_agent

    def level(game: Game, level: int) -> Agent:
        return level_agent(game, level, lambda name: agent(name, game))

    return level


def _sb3(game: Game, file: str, *more: str) -> Agent:
    from .policies.sb3_model import SB3Agent  # needs Stable-Baselines3

    return SB3Agent(Path(":".join([file, *more])), game)


def _program(game: Game, program: str, *more: str) -> Agent:
    from .programs.program_agent import program_agent

    return program_agent(game, ":".join([program, *more]))


def _language_model(game: Game, server: str, *more: str) -> Agent:
    from .programs.program_agent import language_model

    return language_model(game, ":".join([server, *more]))


_OWN: dict[str, Callable[[], Callable[..., Any]]] = {
    "random": lambda: RandomAgent,
    "human": lambda: _person,
    "bot": lambda: BotAgent,
    POLICY: lambda: _policy_of,
    "plans": lambda: _plans,
    "search": _search,
    "mc": _monte_carlo,
    "card": _card,
    "level": _level,
    "sb3": lambda: _sb3,
    "cmd": lambda: _program,
    "llm": lambda: _language_model,
}
"""What gives the factories of our own prefixes."""
_registered: dict[str, Callable[..., Any]] = {}


# From a name to an agent ----------------------------------------------------------------------------------------------


class Factory:
    """A class or a function that makes agents, and the parts of a name that it takes."""

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        """`name` is what comes before the numbers: `mc`, or `file.py:Class`."""
        self.name, self._make = name, make
        try:
            found = list(inspect.signature(make).parameters.values())
        except ValueError:  # some built-in callables have no signature
            found = []
        places = [one for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        self._takes_game = bool(places) and places[0].default is inspect.Parameter.empty
        self._places = places[self._takes_game :]
        self._takes_more = any(one.kind is one.VAR_POSITIONAL for one in found)
        self.keywords = {one.name for one in found if one.kind is one.KEYWORD_ONLY}

    @property
    def form(self) -> str:
        """The form of its agents' names: `mc:DETERMINIZATIONS[:MILLISECONDS]`."""
        words = [one.name.upper() for one in self._places]
        needed, rest = words[: self._needed], words[self._needed :]
        return ":".join([self.name, *needed]) + "".join(f"[:{word}" for word in rest) + "]" * len(rest)

    @property
    def _needed(self) -> int:
        return sum(one.default is one.empty for one in self._places)

    def make(self, parts: Sequence[str], game: Game, num_threads: int, player: Any = None) -> Any:
        """Make an agent of the parts after the name. Raises InvalidValue where it takes others."""
        values = ([game] if self._takes_game else []) + self._read(parts)
        given = {"num_threads": num_threads, "player": player}
        return self._make(*values, **{name: given[name] for name in given.keys() & self.keywords})

    def _read(self, parts: Sequence[str]) -> list[Any]:
        few, many = len(parts) < self._needed, len(parts) > len(self._places) and not self._takes_more
        if not few and not many and all(parts[: len(self._places)]):
            with contextlib.suppress(ValueError):
                more = parts[len(self._places) :]
                return [*map(_value, parts, self._places), *more]
        raise InvalidValue(
            f"The agent {':'.join([self.name, *parts])!r} cannot be read; its name has the form {self.form}."
        )


def _value(part: str, place: inspect.Parameter) -> Any:
    """A part of a name in the type of its argument. Raises ValueError where that is a number and the part is not."""
    kinds = re.findall(r"\b(?:str|int|float)\b", str(place.annotation))
    for kind in (int, float):
        if "str" not in kinds and (not kinds or kind.__name__ in kinds):
            with contextlib.suppress(ValueError):
                return kind(part)
    if kinds and "str" not in kinds:
        raise ValueError
    return part


@contextlib.contextmanager
def _sentences(what: str) -> Iterator[None]:
    """Turn what a user's code raises into an InvalidValue that says where; our own errors stay as they are."""
    try:
        yield
    except BackAlleyError:
        raise
    except (Exception, SystemExit) as error:
        where = ""
        for frame in traceback.extract_tb(error.__traceback__)[1:]:
            if not frame.filename.startswith("<") and Path(frame.filename).parent != Path(__file__).parent:
                where = f" ({frame.filename}, line {frame.lineno})"
        said = one_line(str(error))
        raise InvalidValue(f"{what}: {type(error).__name__}{f': {said}' if said else ''}{where}.") from error


# A user's own ---------------------------------------------------------------------------------------------------------


def custom_agent(spec: str, game: Game, num_threads: int = 0, meant: str = "") -> Agent:
    """Return the agent of `module:Class` or `file.py:Class`, made with what its factory takes after the name; `meant`
    is added to what is said of a name that cannot be read. Raises ValueError or TypeError."""
    place, name, parts = _read(spec, meant)
    with _sentences(f"{one_line(place)} cannot be imported"):
        if place.endswith(".py"):
            module = _from_file(Path(place))
        else:
            no_agent = f"There is no agent {spec!r}"
            from backalley.console.importing import module_at

            module = module_at(
                place, lambda name: InvalidValue(f"{no_agent}: no module {name!r} can be imported.{meant}")
            )
    made = getattr(module, name, None)
    if made is None:
        here = [key for key, value in vars(module).items() if hasattr(value, "act") and not key.startswith("_")]
        raise InvalidValue(
            f"{one_line(place)} has no {name!r}; what it has that can act: {', '.join(here) or 'nothing'}."
        )
    if not callable(made) or (hasattr(made, "act") and not isinstance(made, type)):
        if parts:
            raise InvalidValue(f"{place}:{name} is an agent already; nothing can follow its name, as in {spec!r}.")
        return as_agent(made)
    shown = one_line(f"{place}:{name}")
    if isinstance(made, type) and not hasattr(made, "act"):
        raise InvalidType(f"{shown} is a class without a method act(view), so what it makes is no agent.")
    if not isinstance(made, type) and not inspect.isfunction(made):
        raise InvalidType(f"{shown} makes no agent: it is neither a class nor a function written in Python.")
    return _third_party(Factory(shown, made), parts, game, num_threads)


def _third_party(
    factory: Factory, parts: Sequence[str], game: Game, num_threads: int, player: Agent | None = None
) -> Agent:
    """Return what a user's factory makes, under a name with its budget. Raises ValueError or TypeError."""
    budget = "".join(f":{part}" for part in parts)
    with _sentences(f"{factory.name}{budget} made no agent of {game.name}"):
        found = as_agent(factory.make(parts, game, num_threads, player))
        if not name_of(found).endswith(budget):
            found.name = f"{name_of(found)}{budget}"
    return found


def _read(spec: str, meant: str) -> tuple[str, str, list[str]]:
    """The file or module, the name in it, and what follows. Raises InvalidValue."""
    words = spec.split(":")
    at = next((k for k, word in enumerate(words) if word.endswith(".py")), 0)  # C:\\agents.py
    place, name = ":".join(words[: at + 1]), "".join(words[at + 1 : at + 2])
    from_file = place.endswith(".py")
    if not name.isidentifier() or not (from_file or all(part.isidentifier() for part in place.split("."))):
        raise InvalidValue(f"There is no agent {spec!r}; one of your own is {_OWN_FORMS}.{meant}")
    return place, name, words[at + 2 :]


def _from_file(path: Path) -> ModuleType:
    """The module in a file, under a unique name, so that its agents can be pickled within the process."""
    if not path.is_file():
        raise InvalidValue(f"There is no file {path}; an agent of your own is {_OWN_FORMS}.")
    name = f"{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec, "a .py file has a loader"
    assert spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
