"""The loss of PPO (Schulman et al. 2017) with an entropy bonus, as the derivative of its sum by every output."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import kernel

LOGGED = ("policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl", "clip_fraction")
"""What `ppo_loss` sums besides the rows, in this order."""


@kernel
def ppo_loss(
    outputs: npt.NDArray[np.float32],
    mask: npt.NDArray[np.bool_],
    action: npt.NDArray[np.int64],
    log_prob: npt.NDArray[np.float32],
    advantage: npt.NDArray[np.float32],
    returned: npt.NDArray[np.float32],
    clip: float,
    entropy_weight: float,
    value_weight: float,
    sums: npt.NDArray[np.float64],
) -> None:
    """Write to `outputs` [n, A + 1], logits and value, the derivative of the sum of

        -min(ratio * advantage, clipped ratio * advantage) - entropy_weight * entropy
        + value_weight * (value - return)^2

    by each of them: with p the probabilities, d log p[a] / d logit[b] = (a == b) - p[b], and d entropy / d logit[b] =
    -p[b] * (log p[b] + entropy). Add the number of rows and the sums of LOGGED to `sums` [6].
    """
    actions = mask.shape[1]
    chance = np.empty(actions, np.float32)
    for row in range(outputs.shape[0]):
        logits, legal, chosen = outputs[row], mask[row], action[row]
        highest, total, weighted = logits[chosen], np.float32(0.0), np.float32(0.0)
        for one in range(actions):
            if legal[one] and logits[one] > highest:
                highest = logits[one]
        for one in range(actions):
            chance[one] = np.float32(0.0)
            if legal[one]:
                chance[one] = np.exp(logits[one] - highest)
                total += chance[one]
                weighted += chance[one] * (logits[one] - highest)
        log_total = np.log(total)
        entropy = log_total - weighted / total
        difference = logits[chosen] - highest - log_total - log_prob[row]
        # Both in double precision: compiled, float() keeps a 32-bit number, and the products below would differ.
        ratio, gain = math.exp(np.float64(difference)), np.float64(advantage[row])
        clipped = min(max(ratio, 1.0 - clip), 1.0 + clip)
        # Beyond the clip range nothing pushes the action further; whatever pulls it back still counts.
        push = ratio * gain if ratio * gain <= clipped * gain else 0.0
        missed = np.float64(logits[actions]) - np.float64(returned[row])
        for one in range(actions):
            p = np.float64(chance[one] / total)
            slope = push * p
            if legal[one]:
                slope += entropy_weight * p * np.float64(logits[one] - highest - log_total + entropy)
            outputs[row, one] = slope - (push if one == chosen else 0.0)
        outputs[row, actions] = 2.0 * value_weight * missed
        sums[0] += 1.0
        sums[1] -= min(ratio * gain, clipped * gain)
        sums[2] += missed * missed
        sums[3] -= np.float64(entropy)
        sums[4] += ratio - 1.0 - difference
        sums[5] += int(abs(ratio - 1.0) > clip)
