"""`sb3:model.zip`: a model that Stable-Baselines3 or sb3-contrib saved (PPO, MaskablePPO, A2C, DQN with an MLP policy).

Only the weights and plain JSON are read from the file: SB3's own loader would unpickle the rest, which can run any
code. The network is built from the weights' shapes and the game's spaces.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import TENSOR_BYTES, file_bytes
from backalley.envs.core.game.game import Game

from .network import NetworkAgent, masked

MEMBERS = {
    "data",
    "policy.pth",
    "policy.optimizer.pth",
    "pytorch_variables.pth",
    "_stable_baselines3_version",
    "system_info.txt",
}
"""The contents of SB3's files; a file with anything else is refused."""
_ACTIVATIONS: dict[str, type[nn.Module]] = {
    kind.__name__: kind for kind in (nn.Tanh, nn.ReLU, nn.ELU, nn.GELU, nn.SiLU, nn.LeakyReLU, nn.Sigmoid)
}
_ACTOR, _Q = r"mlp_extractor\.policy_net\.(\d+)\.(weight|bias)", r"q_net\.q_net\.(\d+)\.(weight|bias)"
_LARGEST = 1 << 30


class SB3FileError(InvalidValue):
    """A model that cannot be played; the message says which and why."""


class _Layers(nn.Module):
    """Observations, or masks and observations one after another, to a number for each action."""

    def __init__(self, layers: nn.Sequential, takes_mask: bool, num_actions: int) -> None:
        super().__init__()
        self.layers, self.takes_mask, self.num_actions = layers, takes_mask, num_actions


class SB3Agent(NetworkAgent):
    """Plays the most likely legal action of a saved model (for a DQN the one of highest value), like SB3's
    `predict(deterministic=True)`."""

    def __init__(self, path: Path, game: Game) -> None:
        """Raises SB3FileError."""
        weights, activation = _read(path)
        self.game = game
        self.layers = _build(path, game, weights, activation)
        super().__init__(self.layers, f"sb3:{path.name}", greedy=True)

    def _pass(self, observation: npt.NDArray[Any], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        shown = torch.from_numpy(observation).float()
        legal = torch.from_numpy(mask)
        with torch.no_grad():
            # SB3 joins a dictionary's parts in the order of their names: action_mask, observation.
            numbers = self.layers.layers(torch.cat([legal.float(), shown], 1) if self.layers.takes_mask else shown)
            found: npt.NDArray[np.float32] = torch.log_softmax(masked(numbers, legal.bool()), 1).numpy()
        return found


def _read(path: Path) -> tuple[dict[str, torch.Tensor], type[nn.Module] | None]:
    """The weights of a file by name, and its activation if it names one."""
    try:
        with zipfile.ZipFile(io.BytesIO(file_bytes(path, TENSOR_BYTES))) as archive:
            sizes = {member.filename: member.file_size for member in archive.infolist()}
            foreign = sorted(set(sizes) - MEMBERS)
            if foreign or "policy.pth" not in sizes:
                odd = f"it holds {foreign[0]!r}" if foreign else "it has no policy.pth"
                raise SB3FileError(f"{path} is no file of Stable-Baselines3's save(): {odd}.")
            if max(sizes.values()) > _LARGEST:
                raise SB3FileError(f"{path} unpacks to more than {_LARGEST >> 20} MiB: no policy for a card game.")
            data = json.loads(archive.read("data")) if "data" in sizes else {}
            with archive.open("policy.pth") as file:
                weights = torch.load(file, map_location="cpu", weights_only=True)
    except SB3FileError:
        raise
    except OSError as error:
        raise SB3FileError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # torch raises what pickle and zip raise; whatever it is, the file is not played
        raise SB3FileError(
            f"{path} is damaged, or holds more than weights: {type(error).__name__}: {str(error).splitlines()[0]}"
        ) from None
    if not isinstance(weights, dict) or not all(isinstance(part, torch.Tensor) for part in weights.values()):
        raise SB3FileError(f"{path} holds more than weights in its policy.pth; nothing of it was used.")
    kwargs = data.get("policy_kwargs") if isinstance(data, dict) else None
    named = re.search(r"(\w+)'>$", str(kwargs.get("activation_fn", "")) if isinstance(kwargs, dict) else "")
    if named and named[1] not in _ACTIVATIONS:
        raise SB3FileError(
            f"{path} uses the activation {named[1]}; a model played here uses {', '.join(_ACTIVATIONS)}."
        )
    return weights, _ACTIVATIONS[named[1]] if named else None


def _build(path: Path, game: Game, weights: dict[str, torch.Tensor], activation: type[nn.Module] | None) -> _Layers:
    """The network of the weights' names and shapes, checked against the game's spaces."""
    actor = any(re.fullmatch(_ACTOR, name) for name in weights) or "action_net.weight" in weights
    pattern, default = (_ACTOR, nn.Tanh) if actor else (_Q, nn.ReLU)
    numbers = sorted({int(found[1]) for name in weights if (found := re.fullmatch(pattern, name))})
    names = [f"{'mlp_extractor.policy_net' if actor else 'q_net.q_net'}.{number}" for number in numbers]
    names += ["action_net"] if actor else []
    pairs = [(weights.get(f"{name}.weight"), weights.get(f"{name}.bias")) for name in names]
    if not names or any(weight is None or bias is None or weight.ndim != 2 for weight, bias in pairs):
        raise SB3FileError(
            f"{path} has no MLP policy of PPO, MaskablePPO, A2C or DQN; other models are not played here."
        )
    layers: list[nn.Module] = []
    for weight, bias in pairs:
        assert weight is not None, "looked at above"
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        try:
            layer.load_state_dict({"weight": weight, "bias": bias})
        except RuntimeError as error:
            raise SB3FileError(f"{path} is damaged: its weights do not fit together ({error}).") from None
        layers += [*([(activation or default)()] if layers else []), layer]
    shapes = [layer.weight.shape for layer in layers if isinstance(layer, nn.Linear)]
    size, num_actions = game.observation_size, game.num_actions
    if any(one[0] != other[1] for one, other in itertools.pairwise(shapes)):
        raise SB3FileError(f"{path} is damaged: its layers do not fit together.")
    if shapes[0][1] not in (size, size + num_actions) or shapes[-1][0] != num_actions:
        raise SB3FileError(
            f"{path} takes {shapes[0][1]} numbers and knows {shapes[-1][0]} actions; {game!r} shows {size} numbers (or "
            f"{size + num_actions} with the mask) and has {num_actions} actions: it was trained on another game or "
            "other options."
        )
    return _Layers(nn.Sequential(*layers), shapes[0][1] != size, num_actions)
