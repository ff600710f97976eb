"""Checks of any PettingZoo AEC environment that PettingZoo's own tests do not make.

They use only the environment's interface. It is played at random, by its masks if it has some.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import io
import pickle
import random as python_random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from backalley.console.errors import BrokenPromise
from backalley.envs.core.game.kernels import COMPILED

from .report import NOT_TRIED, Report, run

Make = Callable[[], Any]
"""Makes an AEC environment, or returns the same one each time."""
Copier = Callable[[Any], Any]
STEPS = 300 if COMPILED else 60
"""Steps of a check, by default; the last episode is cut off there. (Uncompiled rules are slow.)"""
STEPS_OF_COPIES = 100 if COMPILED else 20
"""Steps that a copy, and then its original, play in each of two episodes, by default."""
MOMENTS = (1, 3, 11, 25)
"""Steps of an episode after which a copy is made."""


def check_aec(
    env: Any,
    *,
    seed: int = 0,
    steps: int = STEPS,
    seconds: float | None = None,
    copies: Mapping[str, Copier] | None = None,
    unseen: Callable[[Any], Sequence[int]] | None = None,
) -> Report:
    """Check an AEC environment, or a function that makes one, and return a report.

    Each check plays episodes at random, with `seed` and the seeds after it, until it has made `steps` steps. With
    `seconds` the checks are repeated with other seeds for that long. `copies` are the ways to copy an environment, by
    name: deepcopy and pickle, unless others are given. `unseen(env)` returns actions of the agent to act that no other
    agent can distinguish; the others' observations are then compared. Nothing else says what an agent may see, so
    without it only masks are checked for leaks.
    """
    make: Make = env if callable(env) and not hasattr(env, "possible_agents") else lambda: env
    with _quiet():
        subject = str(make())
    checks: dict[str, Callable[..., str]] = {
        "masks": partial(check_aec_masks, make, steps=steps),
        "seeds": partial(check_aec_seeds, make, steps=steps),
        "observations": partial(check_aec_observations, make, steps=steps),
        "unseen": partial(check_aec_unseen, make, unseen, steps=steps),
        "ends": partial(check_aec_ends, make, steps=steps),
    }
    for name, copied in (COPIES if copies is None else copies).items():
        checks[name] = partial(check_aec_copies, make, {name: copied})
    with _quiet():
        return run(subject, checks, seed, seconds)


COPIES: dict[str, Copier] = {"deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}
"""The ways in which an environment is copied."""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence environments that print and warn of illegal moves, which are made here on purpose."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


# ----------------------------------------------------------------------------------------------------------------------
# Playing


_Trace = list[tuple[Any, dict[str, Any]]]
"""Actions, and what was shown before each; None and what is shown at the end."""


class _Episode:
    """An episode with its seed and actions."""

    def __init__(self, env: Any, seed: int, actions: Sequence[Any] | None = None) -> None:
        """Begin it; or go on with one in which these actions were played."""
        self.env, self.seed, self.actions = env, seed, list(actions or ())
        self.gained: dict[Any, float] = collections.defaultdict(float)
        if actions is None:
            env.reset(seed=seed)

    @classmethod
    def again(cls, env: Any, seed: int, actions: Sequence[Any]) -> _Episode:
        """Begin it and play these actions, as far as it goes."""
        episode = cls(env, seed)
        for action in actions:
            if not episode.over:
                episode.step(action)
        return episode

    @classmethod
    def several(cls, env: Any, seed: int, steps: int) -> Iterator[_Episode]:
        """Yield episodes of one seed after another, until that many steps have been made in them."""
        while steps > 0:
            episode = cls(env, seed)
            yield episode
            steps -= max(len(episode.actions), 1)
            seed += 1

    def fail(self, sentence: str) -> BrokenPromise:
        return BrokenPromise(f"Seed {self.seed}, step {len(self.actions)}: {sentence}")

    def hold(self, kept: Any, sentence: str) -> None:
        if not kept:
            raise self.fail(sentence)

    def hold_same(self, shown: dict[str, Any], others: bool = True, *, sentence: str, env: Any = None) -> None:
        """Hold that the same is shown now, here or by another environment."""
        now = _shown(self.env if env is None else env, others)
        name = next((name for name in shown if name not in now or shown[name] != now[name]), "")
        self.hold(not name, f"{sentence}: {name} differs.")

    @property
    def over(self) -> bool:
        """Whether the selected agent can only leave."""
        agent = self.env.agent_selection
        return not self.env.agents or self.env.terminations[agent] or self.env.truncations[agent]

    def choose(self, random: np.random.Generator) -> Any:
        """Return a random action that the mask allows."""
        env = self.env
        mask = mask_of(env, env.agent_selection)
        space = env.action_space(env.agent_selection)
        if mask is None or not isinstance(space, gymnasium.spaces.Discrete):
            space = copy.deepcopy(space)
            space.seed(int(random.integers(2**31)))
            return space.sample()
        legal = np.flatnonzero(mask)
        if not len(legal):
            raise self.fail(f"{env.agent_selection} is to act, and its mask allows nothing.")
        return int(space.start + random.choice(legal))

    def step(self, action: Any) -> None:
        agent = self.env.agent_selection
        try:
            self.env.step(action)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise self.fail(f"action {action} of {agent} is allowed, and step() raises {said}") from error
        self.actions.append(action)
        for one, reward in self.env.rewards.items():
            self.gained[one] += reward

    def play(self, random: np.random.Generator, most: int) -> Iterator[Any]:
        """Play at random; yield each action before it is played."""
        while not self.over and len(self.actions) < most:
            action = self.choose(random)
            yield action
            self.step(action)

    def trace(self, random: np.random.Generator, most: int) -> _Trace:
        """Play at random; return what was shown before each action, and at the end."""
        found = [(action, _shown(self.env)) for action in self.play(random, most)]
        return [*found, (None, _shown(self.env))]

    def repeat(self, trace: _Trace, sentence: str, *, others: bool = True, noise: bool = False) -> None:
        """Play the actions of a trace, and hold that the same is shown; with `noise` global random numbers of Python
        and NumPy are drawn meanwhile."""
        for action, shown in trace:
            self.hold_same(shown, others, sentence=sentence)
            if noise:
                python_random.random()
                np.random.random()  # noqa: NPY002 (what is meant)
            if action is not None:
                self.step(action)


def mask_of(env: Any, agent: Any, observation: Any = None) -> np.ndarray[Any, Any] | None:
    """Return an agent's action mask: from its observation, or else its info; None where it has none."""
    observation = env.observe(agent) if observation is None else observation
    reported = env.infos.get(agent, {})
    for where in (observation, reported):
        if isinstance(where, Mapping) and "action_mask" in where:
            return np.asarray(where["action_mask"])
    return None


def _plain(value: Any) -> Any:
    """A value in a form that can be compared."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "__array__") or isinstance(value, np.generic):
        array = np.asarray(value)
        return array.dtype.str, array.shape, array.tobytes()
    return value


def _shown(env: Any, others: bool = True) -> dict[str, Any]:
    """All that an environment shows now; with `others` also the observations of agents off turn."""
    said: dict[str, Any] = {"agents": list(env.agents), "agent_selection": env.agent_selection if env.agents else None}
    for agent in env.agents:
        if others or agent == env.agent_selection:
            said[f"the observation of {agent}"] = _plain(env.observe(agent))
            said[f"the mask of {agent}"] = _plain(mask_of(env, agent))
    for name in ("rewards", "terminations", "truncations", "_cumulative_rewards"):
        said[name] = dict(getattr(env, name))
    return said


# ----------------------------------------------------------------------------------------------------------------------
# The checks


def check_aec_masks(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check masks: an agent to act has a mask of its own size that allows something; an allowed action can be played; a
    forbidden one raises, ends the episode or changes nothing."""
    env, positions, forbidden, masked = make(), 0, 0, False
    for episode in _Episode.several(env, seed, steps):
        random = np.random.default_rng(episode.seed)
        wrong: dict[int, int] = {}
        for _ in episode.play(random, steps):
            agent = env.agent_selection
            observation = env.observe(agent)
            mask, space = mask_of(env, agent, observation), env.action_space(agent)
            positions += 1
            if mask is None:
                continue
            masked = True
            fits = isinstance(space, gymnasium.spaces.Discrete) and mask.shape == (space.n,)
            episode.hold(fits, f"the mask of {agent} has shape {mask.shape}, and its action space is {space}.")
            episode.hold(set(np.unique(mask)) <= {0, 1}, f"the mask of {agent} holds other numbers than 0 and 1.")
            reported = env.infos.get(agent, {}).get("action_mask", mask)
            episode.hold(
                np.array_equal(reported, mask), f"the masks of {agent} in its observation and in its info differ."
            )
            if len(wrong) < 4 and not mask.all():
                wrong[len(episode.actions)] = int(space.start + random.choice(np.flatnonzero(mask == 0)))
        for step, action in wrong.items():
            forbidden += _try_forbidden(env, episode.seed, episode.actions[:step], action)
    if not masked:
        return f"At {positions:,} positions of random play any action was played; there are no masks."
    return (
        f"At {positions:,} positions of random play what the mask allowed was played; {forbidden} actions that it "
        "forbids were refused, ended the episode, or changed nothing."
    )


def _try_forbidden(env: Any, seed: int, actions: Sequence[Any], wrong: int) -> bool:
    """Play an episode again up to a position, and there an action that its mask forbids. Return False where the
    position cannot be reached again."""
    episode = _Episode.again(env, seed, actions)
    mask = None if episode.over else mask_of(env, env.agent_selection)
    if mask is None or mask[wrong - int(env.action_space(env.agent_selection).start)]:
        return False
    agent, before = env.agent_selection, _shown(env)
    try:
        env.step(wrong)
    except Exception:  # each environment refuses in its own way
        return True
    kept = episode.over or before == _shown(env)
    episode.hold(kept, f"the mask of {agent} forbids action {wrong}, and step({wrong}) plays it.")
    return True


def check_aec_seeds(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check that the same seed gives the same episode, also from a second environment, and while global random numbers
    are drawn; and that these are not changed."""
    env, episodes = make(), 0
    for episode in _Episode.several(env, seed, steps):
        number, episodes = episode.seed, episodes + 1
        first = episode.trace(np.random.default_rng(number), steps)
        before = python_random.getstate(), _plain(np.random.get_state())  # noqa: NPY002
        _Episode(env, number).repeat(first, "a second episode with the same seed is another one")
        if before != (python_random.getstate(), _plain(np.random.get_state())):  # noqa: NPY002
            raise BrokenPromise(f"Seed {number}: the environment draws from, or seeds, the global random numbers.")
        _Episode(make(), number).repeat(first, "a second environment with the same seed plays another episode")
        _Episode(env, number).repeat(
            first, "the same seed gives another episode while others draw from the global random numbers", noise=True
        )
    return f"{episodes} seeds gave the same episode four times each: again, in a second environment, and beside others."


def check_aec_copies(
    make: Make, copies: Mapping[str, Copier] | None = None, *, seed: int = 0, steps: int = STEPS_OF_COPIES
) -> str:
    """Check that a copy in mid-game shows the same, plays identically for `steps` steps or to the end, then through as
    many of the next episode, and shares nothing with its original. `copies` are the ways to copy, by name: deepcopy and
    pickle, unless others are given."""
    env, made = make(), 0
    copies = COPIES if copies is None else copies
    for by, copied in copies.items():
        for moment in MOMENTS:
            for number in range(seed, seed + _TRIES):
                random, episode = np.random.default_rng(number), _Episode(env, number)
                for _ in episode.play(random, moment):
                    pass
                if not episode.over:
                    _check_copy(env, by, copied, random, episode, steps)
                    made += 1
                    break
    if not made:
        return f"{NOT_TRIED}no random episode had a second step."
    return (
        f"{made} copies by {' and '.join(copies)} in mid-game went on identically, through the next episode, and "
        "shared nothing."
    )


_TRIES = 20
"""Episodes that are tried to find one that has not ended at some step."""


def _check_copy(env: Any, by: str, copied: Copier, random: np.random.Generator, episode: _Episode, steps: int) -> None:
    before = _shown(env)
    said = f"{by} raises"
    try:
        twin = copied(env)
        said = f"a copy by {by} is not in the middle of the episode; to look at it raises"
        episode.hold_same(before, env=twin, sentence=f"in a copy by {by}")
    except BrokenPromise:
        raise
    except Exception as error:
        raise episode.fail(f"{said} {type(error).__name__}: {error}") from error
    number, most = episode.seed, len(episode.actions) + steps
    rest = _Episode(twin, number, episode.actions).trace(random, most)
    twin.reset()
    following = _Episode(twin, number, []).trace(random, most)
    episode.hold_same(before, sentence=f"what is played in a copy by {by} changes the original")
    episode.repeat(rest, f"a copy by {by} goes on otherwise")
    env.reset()
    _Episode(env, number, []).repeat(following, f"a copy by {by} goes on otherwise in the next episode")


def check_aec_observations(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check that any agent can be observed at any time, which changes nothing; that observations belong to the caller;
    and that agents off turn do not see the mask of the agent to act."""
    env, asked = make(), 0
    for episode in _Episode.several(env, seed, steps):
        number, leaks = episode.seed, 0
        masks, overwritten = set[bytes](), _Trace()
        for action in episode.play(np.random.default_rng(number), steps):
            acting = mask_of(env, env.agent_selection)
            masks.add(b"" if acting is None else acting.tobytes())
            for agent in env.agents:
                try:
                    observation = env.observe(agent)
                except Exception as error:
                    raise episode.fail(f"observe({agent!r}) raises {type(error).__name__}: {error}") from error
                asked += 1
                episode.hold(
                    env.observation_space(agent).contains(observation),
                    f"the observation of {agent} is not in its observation space.",
                )
                before = _plain(observation)
                off_turn = mask_of(env, agent, observation) if agent != env.agent_selection else None
                if off_turn is not None and acting is not None:
                    leaks += int(off_turn.any() and np.array_equal(off_turn, acting))
                _overwrite(observation)
                kept = _plain(env.observe(agent)) == before
                episode.hold(kept, f"what is written into an observation of {agent} changes what it observes next.")
            overwritten.append((action, _shown(env, others=False)))
        shown_to_all = leaks and len(masks) > 1
        episode.hold(not shown_to_all, f"observe() gave agents off turn the mask of the agent to act, {leaks} times.")
        quiet = _Episode(env, number)
        quiet.repeat(overwritten, "observing agents off turn, and writing into it, changes play", others=False)
    return f"{asked:,} observations, also of agents off turn, changed nothing and showed no other agent's mask."


def _overwrite(value: Any) -> None:
    if isinstance(value, Mapping):
        for item in value.values():
            _overwrite(item)
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        value[...] = 1 - value if value.dtype.kind in "iufb" and value.dtype != np.bool_ else 0


def check_aec_unseen(
    make: Make,
    unseen: Callable[[Any], Sequence[int]] | None,
    *,
    seed: int = 0,
    steps: int = STEPS,
) -> str:
    """Check that for each of the actions of `unseen(env)` every other agent observes the same after it."""
    if unseen is None:
        return f"{NOT_TRIED}only you can say which actions others do not see; give unseen=."
    env, compared = make(), 0
    for episode in _Episode.several(env, seed, steps):
        number = episode.seed
        moments = [
            (step, actor, list(actions))
            for step, (actor, actions) in enumerate(
                (env.agent_selection, unseen(env)) for _ in episode.play(np.random.default_rng(number), steps)
            )
            if len(actions) > 1
        ]
        for step, actor, actions in moments:
            seen = [_seen_after(env, number, [*episode.actions[:step], action], actor) for action in actions]
            for action, found in zip(actions, seen, strict=True):
                if name := next((name for name, its in seen[0].items() if its != found.get(name)), ""):
                    raise BrokenPromise(
                        f"Seed {number}, step {step}: {name} tells action {actions[0]} of {actor} from {action}, which "
                        "no other agent should see."
                    )
            compared += len(actions) * (len(actions) > 1)
    return f"{compared:,} actions that others should not see were played: these observed the same whichever it was."


def _seen_after(env: Any, seed: int, actions: Sequence[Any], actor: Any) -> dict[str, Any]:
    """The observations of all other agents after an episode's first actions."""
    _Episode.again(env, seed, actions)
    return {f"the observation of {agent}": _plain(env.observe(agent)) for agent in env.agents if agent != actor}


def check_aec_ends(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check that at the end of an episode `last()` tells every agent so, with all that it gained, and `step(None)` lets
    it leave."""
    env, ended = make(), 0
    for episode in _Episode.several(env, seed, steps):
        agents, gained = list(env.agents), episode.gained
        reported = dict.fromkeys(agents, 0.0)
        for _ in episode.play(np.random.default_rng(episode.seed), steps):
            reported[env.agent_selection] += env.last()[1]
        if not episode.over:
            continue
        ended += 1
        for _ in range(2 * len(agents)):
            if not env.agents:
                break
            agent = env.agent_selection
            _, reward, terminated, truncated, _ = env.last()
            episode.hold(terminated or truncated, f"the episode is over, and last() says nothing of it to {agent}.")
            reported[agent] += reward
            env.step(None)
        left = ", ".join(env.agents)
        episode.hold(not left, f"the episode is over, and {left} cannot leave by step(None).")
        for agent in agents:
            episode.hold(
                np.isclose(reported[agent], gained[agent]),
                f"last() reported {agent} rewards of {reported[agent]:g} in all; its rewards are {gained[agent]:g}.",
            )
    if not ended:
        return f"{NOT_TRIED}no episode ended within {steps:,} steps."
    return f"At the end of {ended} episodes everybody was handed that, with all rewards, and left."
