"""How games between equal strong players end. Written by tune_match.py, which measured it; change that, not this."""

import numpy as np

GAME_CHANCES = np.array(
    [
        # 200,000 games; the dealer is ahead by +0.003 ± 0.015 points on average
        # the higher hand wins, nothing_scores False
        31719, 365, 65425, 342, 2, 479, 40762, 405, 55213,
        2541, 10, 2718, 19, 0, 19, 2718, 10, 2541,
        55213, 405, 40762, 479, 2, 342, 65425, 365, 31719,
        # the higher hand wins, nothing_scores True
        32931, 55, 66780, 351, 0, 482, 42113, 62, 56687,
        231, 0, 305, 3, 0, 3, 305, 0, 231,
        56687, 62, 42113, 482, 0, 351, 66780, 55, 32931,
        # 200,000 games; the dealer is ahead by -0.010 ± 0.013 points on average
        # misère, nothing_scores False
        43, 3418, 389, 2694, 51969, 7798, 112, 2704, 68,
        240, 8802, 1237, 31016, 179020, 31016, 1237, 8802, 240,
        68, 2704, 112, 7798, 51969, 2694, 389, 3418, 43,
        # misère, nothing_scores True
        29166, 4556, 91878, 111, 28, 157, 33772, 4084, 36200,
        18, 8, 22, 0, 0, 0, 22, 8, 18,
        36200, 4084, 33772, 157, 28, 111, 91878, 4556, 29166,
    ],
    np.float64,
).reshape(2, 2, 3, 3, 3)
GAME_CHANCES /= GAME_CHANCES.sum(axis=(2, 3, 4), keepdims=True)
"""[misère, nothing_scores, round 1, round 2, round 3]: the share of games in which a player loses (0), ties
(1) or wins (2) these rounds."""
