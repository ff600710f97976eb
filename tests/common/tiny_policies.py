"""Policies that nobody trained, for a copy of a tiny game in a folder of its own."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.policies.behaviour_digest import behaviour_digest
from backalley.agents.policies.policy_file import save_policy
from backalley.agents.policies.policy_kinds import NetworkPlayer, Player, Residual
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.game import Game

MADE = {"command": "backalley train some_game --seed 0 --decisions 1", "commit": "0123abc"}
SOURCE = """
import dataclasses
from {module} import GAME as COPIED
GAME = dataclasses.replace(COPIED, name="{name}", module=__name__)
"""


def elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch, module: Any) -> Game:
    """A game outside the package, in a folder of its own, so that policies can come with it."""
    name = f"{module.__name__.rpartition('.')[2]}_{folder.name}"
    place = folder / name
    place.mkdir()
    (place / "__init__.py").touch()
    (place / "game.py").write_text(SOURCE.format(module=module.__name__, name=name))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(catalogue, "_registered", {})
    importlib.invalidate_caches()
    return backalley.game(f"{name}.game")


def made(folder: Path, game: Game, seed: int = 0, player: Player | None = None, **about: Any) -> Path:
    """A policy with weights drawn by a seed, as a run would leave it."""
    random, player = np.random.default_rng(seed), player or NetworkPlayer(8, 1, True)
    arrays = {name: random.standard_normal(shape) for name, shape in player.shapes(game).items()}
    save_policy(folder, arrays, game, name="run-s0", player=player, made={**MADE, **about})
    return folder


def residual(game: Game, margin: float | None = 0.1, bot: str = "random") -> Residual:
    return Residual(8, 1, bot, behaviour_digest(game, bot), margin)
