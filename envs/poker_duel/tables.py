"""What was measured of play, for the bots. `tune.py` measures it and writes `tables.json`: change that, not this."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FILE = Path(__file__).with_name("tables.json")


def _read(name: str, scale: float) -> npt.NDArray[np.float64]:
    numbers: Any = json.loads(FILE.read_text("utf-8"))[name]
    return np.array(numbers, np.float64) / scale


CHANCES = _read("chances", 1000)
"""The chance of a hand to win its round: [exchanges left 0..2, round 1..3 and sudden death, 13 * category + highest
rank], see `grading.grade`."""
MISERE_CHANCES = _read("misere_chances", 1000)
"""The same of a misère hand: [exchanges left 0..2, round 1..3 and sudden death, misère grade], see
`grading.misere_grade`."""
GAME_CHANCES = _read("game_chances", 1)
GAME_CHANCES /= GAME_CHANCES.sum(axis=(2, 3, 4), keepdims=True)
"""How games between equal strong players end: [misère, nothing_scores, round 1, round 2, round 3], the share of games
in which a player loses (0), ties (1) or wins (2) these rounds."""
