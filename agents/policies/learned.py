"""Policies from disk, played by compiled code (`inference.py`), without any of the training libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidType, InvalidValue
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import ActionFeatures

from ..base.action_probabilities import Probabilities
from ..base.rule_based import BotAgent, KernelAgent
from .inference import FeatureRows, Rated, act, chances, logits_rows, net_of, own_room, rated_kernels
from .policy_file import PolicyFileError, game_of_policy, observation_bound, player_of, read_policy
from .policy_kinds import (
    Arrays,
    MixturePlayer,
    NetworkPlayer,
    OwnPlayer,
    PlansPlayer,
    Player,
    Residual,
    TablePlayer,
    features_of,
)

if TYPE_CHECKING:
    from .own_policy import OwnPolicyAgent


class Play(NamedTuple):
    """How a player plays."""

    kernel: Callable[..., int]
    reads: str
    by: Callable[[], Any]
    """The kernel's first argument, new for each thread."""
    chances: Callable[..., None] | None = None
    """The probability of each action, if it draws."""


class PolicyAgent(KernelAgent):
    """A policy from disk, in the form of a bot: matches run it in machine code.

    `metadata` is its JSON: what it plays and how it was made; `player` says how it is played; `note` says which bot it
    corrects, if any, and whether it was trained under other options than it plays under.
    """

    def __init__(
        self, folder: str | Path, game: str | Game | GameType | None = None, *, greedy: bool | None = None
    ) -> None:
        """`folder` is a policy's folder or that of a whole training run; the game is the one it was trained for, under
        its options, and `greedy` is as the policy says, unless given.

        Raises PolicyFileError, UnknownGame or OptionError.
        """
        self._set(*_opened(folder, game, greedy))

    def _set(self, folder: Path, game: Game, arrays: Arrays, metadata: dict[str, Any], player: Player) -> None:
        if isinstance(player, OwnPlayer):
            raise PolicyFileError(f"The policy in {folder} is no PolicyAgent; backalley.load_policy plays it.")
        self.folder, self.arrays, self.metadata, self.player = folder, arrays, metadata, player
        trained, note = game.type.bind(metadata["options"]), _note(metadata, game)
        if isinstance(player, Residual):
            check_bot(f"The policy in {folder}", player, trained)
            note = f"It is {player.meaning}. {note}".strip()
        elif isinstance(player, PlansPlayer | MixturePlayer):
            check_plans(f"The policy in {folder}", player, trained, game)
            if isinstance(player, MixturePlayer):
                check_mixture(f"The policy in {folder}", player, arrays, game)
        check_features(f"The policy in {folder}", player, arrays, trained)
        self._play = play_of(player, arrays, game)
        super().__init__(metadata["name"], self._play.kernel, game)
        self.reads, self.chances = self._play.reads, self._play.chances
        drawing_bot = isinstance(player, Residual) and game.bots[player.bot].chances is not None
        self.is_deterministic = self.greedy and not drawing_bot
        self.identity, self.note = metadata["weights"]["sha256"], note

    @property
    def greedy(self) -> bool:
        """Whether equal observations always get equal actions; otherwise it draws."""
        return self.player.greedy if isinstance(self.player, NetworkPlayer) else True

    @property
    def unit(self) -> float | None:
        """The standard deviation of the targets that its network learned, in rewards: its outputs are gains in this
        unit. None for a policy that learned something else."""
        unit = self.metadata["made"].get("unit")
        return unit if isinstance(unit, float) and 0 < unit < math.inf else None

    @property
    def plays_gains(self) -> bool:
        """Whether it is a network of gains, which plays the greatest. The outputs of one that draws were scaled by a
        temperature, and are no gains any more."""
        return self.unit is not None and isinstance(self.player, NetworkPlayer) and self.player.greedy

    def probabilities(self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8]) -> Probabilities:
        """Return the probability of each action [n, A]. Of a bot that draws and is corrected, each of its actions is
        followed."""
        if self.is_deterministic or not isinstance(self.player, Residual):
            return super().probabilities(observation, action_mask)
        from .residual import advised

        bot, features = self.game.bots[self.player.bot], features_of(self.player, self.game)
        follows, advises = KernelAgent(self.name, advised(bot, features), self.game), BotAgent(self.game, bot.name)
        follows.is_guarded = advises.is_guarded = self.is_guarded
        plays = advises.probabilities(observation, action_mask)
        found = np.zeros(action_mask.shape)
        follows.reads, follows.plays_by = self.reads, self.plays_by  # type: ignore[method-assign]
        for advice in np.flatnonzero(plays.any(0)):
            rows = np.flatnonzero(plays[:, advice])
            after = follows.choose(observation[rows], action_mask[rows], np.full(len(rows), advice, np.uint64))
            found[rows, after] += plays[rows, advice]
        return found

    def plays_by(self) -> Any:
        """Return the first argument of its kernel, with buffers for one thread."""
        return self._play.by()

    def logits(self, observation: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the logits of every action, legal or not, for observations [n, O]: float32 [n, A]. Raises TypeError
        for a policy that is not a plain network, and ValueError for observations of another shape."""
        if not isinstance(self.player, NetworkPlayer) or self.player.features:
            raise InvalidType(
                f"{self.name} has no logits: it is no network that reads observations and plays by itself."
            )
        shown = np.ascontiguousarray(self._observations(observation))
        if shown.ndim != 2:
            raise InvalidValue(f"{self.name} was given observations of shape {shown.shape}; logits take [n, O].")
        out = np.empty((len(shown), self.game.num_actions), np.float32)
        logits_rows(self.plays_by(), shown, out)
        return out

    def rollout_kernel(self) -> Callable[..., int] | None:
        """Return its kernel; for a residual over the bot's `quick` one."""
        from .residual import corrected

        bot = self.game.bots[self.player.bot] if isinstance(self.player, Residual) else None
        if bot is None or bot.quick is None:
            return self.kernel
        return corrected(bot.in_rollouts, features_of(self.player, self.game))

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_play": None, "kernel": None, "chances": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._play = play_of(self.player, self.arrays, self.game)
        self.kernel, self.chances = self._play.kernel, self._play.chances


def _opened(
    folder: Any, game: str | Game | GameType | None, greedy: bool | None
) -> tuple[Path, Game, Arrays, dict[str, Any], Player]:
    """Read a policy: its folder, the game, its arrays in single precision, its JSON and how it is played. Raises
    PolicyFileError, UnknownGame or OptionError."""
    if not isinstance(folder, (str, Path)) or not str(folder):
        raise PolicyFileError(f"A policy is the path of a folder, and {folder!r} was given.")
    place = Path(folder)
    plays = game_of_policy(place) if game is None else game_of(game)
    arrays, metadata = read_policy(place, plays)
    return place, plays, arrays, metadata, _asked(place, player_of(metadata), greedy)


def play_of(player: Player, arrays: Arrays, game: Game) -> Play:
    """Return how `player` plays `game` with its arrays."""
    if isinstance(player, PlansPlayer):
        from .planner import PlannerAgent, plans_of

        return Play(plans_of(game).act, "record", PlannerAgent(game, arrays["values"]).plays_by)
    if isinstance(player, MixturePlayer):
        from .mixture import MixtureAgent, mixed_kernel

        return Play(mixed_kernel(game.type), "record", MixtureAgent(game, arrays, player.field).plays_by)
    if isinstance(player, TablePlayer):
        from ..base import table

        found = table.entries(arrays, game)
        return Play(table.act, "vector", lambda: found)
    assert isinstance(player, NetworkPlayer | Residual), "a network of a user's own is an OwnPolicyAgent"
    features = features_of(player, game)
    rates = 0 if features is None else game.num_actions
    bound = inputs_bound(game, features, isinstance(player, Residual))
    net = net_of(arrays, bound, greedy=getattr(player, "greedy", True), rates=rates)
    if isinstance(player, NetworkPlayer):
        if features is None:
            return Play(act, "vector", lambda: own_room(net), chances)
        rated = rated_kernels(features)
        return Play(rated["act_rated"], "record", lambda: Rated(game.options, own_room(net)), rated["chances_rated"])
    from .residual import Corrected, corrected

    margin = math.inf if player.margin is None else player.margin
    kernel = corrected(game.bots[player.bot], features)
    return Play(kernel, "both", lambda: Corrected(game.options, own_room(net), margin))


def inputs_bound(game: Game, features: ActionFeatures | None, advised: bool) -> npt.NDArray[np.float64]:
    """Return the greatest absolute value of each input of a network: of features, or of the observation, with the bot's
    action if it is `advised`."""
    if features is not None:
        return np.ones(features.number)
    bound = observation_bound(game)
    return np.concatenate([bound, np.ones(game.num_actions)]) if advised else bound


def check_features(who: str, player: Player, arrays: Arrays, trained: Game) -> None:
    """Raise PolicyFileError if the features that the policy was trained with are others now."""
    features = features_of(player, trained)
    if features is None:
        return
    if np.allclose(FeatureRows(trained, features).means(), arrays["features"], rtol=0.01, atol=1e-3):
        return
    raise PolicyFileError(f"{who} rates actions by features that {trained.name} no longer has; train it again.")


def check_bot(who: str, player: Residual, trained: Game) -> None:
    """Raise PolicyFileError if the corrected bot is missing, or plays differently now."""
    from .behaviour_digest import behaviour_digest

    if player.bot not in trained.bots:
        raise PolicyFileError(f"{who} corrects bot:{player.bot}, and {trained.name} has no such bot; train it again.")
    if behaviour_digest(trained, player.bot) != player.behaviour_digest:
        raise PolicyFileError(
            f"{who} corrects bot:{player.bot} as it played when the policy was trained, and it plays otherwise now; "
            "train it again."
        )


def check_plans(who: str, player: PlansPlayer | MixturePlayer, trained: Game, game: Game) -> None:
    """Raise PolicyFileError if plans cannot be used under the game's options, or if the classes, under the options of
    its training, have changed."""
    from .planner import classes_digest, plans_of

    try:
        classes = len(plans_of(game).values(game.options))
        digest = classes_digest(trained)
    except ValueError as error:
        raise PolicyFileError(f"{who} plays by plans, and {error}") from None
    if (player.classes, player.digest) != (classes, digest):
        raise PolicyFileError(
            f"{who} holds the values of other classes than the plans of {game.name} have now; train it again."
        )


def check_mixture(who: str, player: MixturePlayer, arrays: Arrays, game: Game) -> None:
    """Raise PolicyFileError if the tables of a mixture are not those of the game's plans, or its shares are none."""
    from .mixture import model_of, shares_upto

    try:
        planned = len(model_of(game).classes(game.options))
        shares_upto(arrays["shares"], player.field)
    except ValueError as error:
        raise PolicyFileError(f"{who} is a mixture of plans that cannot be played: {error}") from None
    if player.planned != planned:
        raise PolicyFileError(
            f"{who} has tables of {player.planned} classes, and {planned} decide the plans of {game.name} under these "
            "options; train it again."
        )


def _asked(folder: Path, player: Player, greedy: bool | None) -> Player:
    """The player, with `greedy` as requested."""
    if greedy is not None and not isinstance(greedy, bool):
        raise PolicyFileError(f"greedy is {type(greedy).__name__}; it takes True, False or None.")
    if greedy is None or (greedy and not isinstance(player, NetworkPlayer | OwnPlayer)):
        return player
    if not isinstance(player, NetworkPlayer | OwnPlayer):
        raise PolicyFileError(f"The policy in {folder} has no probabilities to draw by; leave `greedy` out.")
    return player._replace(greedy=greedy)


def load_policy(
    folder: str | Path, game: str | Game | GameType | None = None, *, greedy: bool | None = None
) -> PolicyAgent | OwnPolicyAgent:
    """Return the policy in a folder, ready to play: `policy.act(observation, action_mask)` in a user's own loop, or as
    an agent wherever one is needed.

    `folder` is a policy's folder or that of a whole training run. Game and options are those it was trained for unless
    given; `greedy` says whether it plays its most likely action or draws, by default as it was saved. Raises
    PolicyFileError, UnknownGame or OptionError.

    >>> from backalley.agents.policies.pretrained import pretrained
    >>> from backalley.envs.core.game.catalogue import game
    >>> load_policy(pretrained(game("missouri_city"))[0].folder).name
    'policy:learned'
    """
    found = _opened(folder, game, greedy)
    place, plays, arrays, metadata, player = found
    if isinstance(player, OwnPlayer):
        from .own_policy import OwnPolicyAgent  # needs torch

        return OwnPolicyAgent(place, plays, arrays, metadata, player, _note(metadata, plays))
    agent = PolicyAgent.__new__(PolicyAgent)
    agent._set(*found)
    return agent


def _note(metadata: Mapping[str, Any], game: Game) -> str:
    """A sentence if a policy plays under other options than it was trained under; else empty."""
    trained, played = (one.option_values for one in (game.type.bind(metadata["options"]), game))
    others = [option for option in played if trained.get(option) != played[option]]
    if not others:
        return ""
    then, now = (", ".join(f"{option}={options.get(option)}" for option in others) for options in (trained, played))
    return f"It was trained under {then}, and plays under {now} here."
