"""TorchRL: many tables as one TensorDict environment, and advantages along each seat's own decisions.

    env = TransformedEnv(SelfPlayEnv("missouri_city", 256, seed=0), ActionMask())
    steps = env.rollout(32, break_when_any_done=False)

It needs the extra `torchrl`. This may import everything but the command line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from backalley.console.errors import NotInstalled
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import OVER
from backalley.training.ppo.kernels import seat_advantages

try:
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
    from torchrl.envs import EnvBase
except ModuleNotFoundError as error:
    raise NotInstalled("backalley.torchrl needs TorchRL: pip install 'backalley[torchrl]'.") from error


class SelfPlayEnv(EnvBase):  # type: ignore[misc]
    """B tables; a step is one decision of the seat to act at each, whoever it is.

    | key | shape, type |
    |---|---|
    | `observation` | [B, O] float32, what the seat to act may know |
    | `action_mask` | [B, A] bool, as TorchRL's `ActionMask` wants it; all True at a finished table |
    | `seat` | [B, 1] int64, the seat to act; -2 at a finished table |
    | `action` | [B] int64 |
    | (`next`, `reward`) | [B, N] float32, what every seat gained by the action |
    | (`next`, `done`), `terminated`, `truncated` | [B, 1] bool |

    TorchRL itself resets finished tables. Rewards go to seats that are off turn, too, so estimators that go along time,
    such as `GAE`, would mix the seats: take `SeatAdvantages`.
    """

    batch: BatchEnv
    """The tables. Finished ones stay so until TorchRL resets them."""

    def __init__(
        self,
        game: str | Game | GameType,
        num_envs: int,
        *,
        seed: int | None = None,
        num_threads: int = 1,
        device: Any = None,
        **options: Any,
    ) -> None:
        """`game` and `options` are those of `backalley.make_vec`; tensors are put on `device`. Raises what it does."""
        batch = BatchEnv(game_of(game, **options), num_envs, seed=seed, num_threads=num_threads, autoreset=False)
        super().__init__(device=device, batch_size=torch.Size([batch.num_envs]))
        self.batch = batch
        found, tables, seats = batch.game, batch.num_envs, batch.num_seats
        low, high = (
            torch.from_numpy(bound.astype(np.float32)).expand(tables, -1) for bound in found.observation_bounds
        )
        self.observation_spec = Composite(
            observation=Bounded(low, high, dtype=torch.float32),
            action_mask=Binary(batch.num_actions, shape=(tables, batch.num_actions), dtype=torch.bool),
            seat=Bounded(OVER, seats - 1, shape=(tables, 1), dtype=torch.int64),
            shape=(tables,),
            device=device,
        )
        self.action_spec = Categorical(batch.num_actions, shape=(tables,), device=device)
        self.reward_spec = Unbounded(shape=(tables, seats), device=device)
        flag = Categorical(2, shape=(tables, 1), dtype=torch.bool, device=device)
        names = ("done", "terminated", "truncated")
        self.done_spec = Composite({name: flag.clone() for name in names}, shape=(tables,), device=device)

    def _shown(self) -> dict[str, torch.Tensor]:
        step = self.batch.time_step
        return {
            "observation": torch.from_numpy(step.observation.astype(np.float32)),
            "action_mask": torch.from_numpy((step.action_mask != 0) | (step.seat < 0)[:, None]),
            "seat": torch.from_numpy(step.seat.astype(np.int64))[:, None],
        }

    def _tensors(self, shown: dict[str, torch.Tensor]) -> TensorDict:
        return TensorDict(shown, batch_size=self.batch_size, device=self.device)

    def _reset(self, tensordict: TensorDictBase | None, **given: Any) -> TensorDict:
        which = None if tensordict is None else tensordict.get("_reset", None)
        rows = np.arange(self.batch.num_envs) if which is None else which.view(-1).nonzero().view(-1).cpu().numpy()
        self.batch.restart(rows)
        ended = torch.zeros((self.batch.num_envs, 1), dtype=torch.bool)
        return self._tensors({**self._shown(), **{name: ended.clone() for name in ("done", "terminated", "truncated")}})

    def _step(self, tensordict: TensorDictBase) -> TensorDict:
        step = self.batch.step(tensordict["action"].cpu())
        terminated, truncated = (torch.from_numpy(flag[:, None].copy()) for flag in (step.terminated, step.truncated))
        outcome = {"reward": torch.from_numpy(step.reward.copy()), "done": terminated | truncated}
        return self._tensors({**self._shown(), **outcome, "terminated": terminated, "truncated": truncated})

    def _set_seed(self, seed: int | None) -> None:
        self.batch.seed(seed)

    def observe_all(self) -> torch.Tensor:
        """Return what every seat may know at every table now, [B, N, O] float32."""
        tables, seats = self.batch.num_envs, self.batch.num_seats
        found = self.batch.observe(np.tile(np.arange(seats), tables), np.repeat(np.arange(tables), seats))
        return torch.from_numpy(found.astype(np.float32)).view(tables, seats, -1).to(self.device or "cpu")


class SeatAdvantages:
    """Generalised advantages (Schulman et al. 2016) along each seat's own decisions, as `GAE` has them for one agent.

    What follows a decision is what that seat gains until it is to act again, and the value of what it sees then."""

    def __init__(self, env: Any, critic: Any, *, gamma: float = 1.0, lmbda: float = 0.95) -> None:
        """`env` is the SelfPlayEnv, also in a TransformedEnv; `critic` a TensorDictModule that reads `observation` and
        writes `state_value`. `gamma` discounts from one decision of a seat to its next."""
        self.env, self.critic, self.gamma, self.lmbda = env, critic, gamma, lmbda

    @torch.no_grad()
    def __call__(self, steps: TensorDictBase) -> TensorDictBase:
        """Add `advantage` and `value_target` [B, T, 1] to the latest steps [B, T] of `rollout` or a collector; the
        tables must be as they were left then."""
        own = self.critic(steps.select("observation"))["state_value"]
        every = self.env.observe_all()
        waiting = self.critic(TensorDict({"observation": every}, batch_size=every.shape[:2], device=every.device))
        ended = _array(steps["next", "done"])
        advantage = np.empty(ended.shape, np.float32)
        seat, value, reward = _array(steps["seat"]), _array(own), _array(steps["next", "reward"], 3)
        played = np.ones(ended.shape, np.bool_)
        last = np.ascontiguousarray(waiting["state_value"].squeeze(-1).cpu().numpy())
        seat_advantages(seat.astype(np.int8), played, ended, reward, value, last, self.gamma, self.lmbda, advantage)
        better = torch.from_numpy(advantage.T.copy())[..., None].to(own.device)
        steps["advantage"], steps["value_target"] = better, better + own
        return steps


def _array(tensor: torch.Tensor, dimensions: int = 2) -> np.ndarray[Any, Any]:
    """Return [B, T, ...] as an array [T, B, ...] of so many dimensions."""
    array = np.ascontiguousarray(tensor.detach().cpu().numpy().swapaxes(0, 1))
    return array.reshape(array.shape[:dimensions])
