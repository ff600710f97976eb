"""The curve of mixtures of plans: what a share of the policy that gains on a field wins there, and what it gives to
those who attack it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import BotAgent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.mixture import MixtureAgent
from backalley.agents.policies.policy_kinds import MixturePlayer
from backalley.console.errors import InvalidValue
from backalley.training.attack.attack import attack

from ...figures.formatting import Found
from ...figures.result_kinds import Columns, Kept, lines
from ...matches.evaluate import evaluate
from ..runner import Progress, count, quiet, study

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
_CELL = "{%s[mean]:+.3f} ({%s[low]:+.3f} to {%s[high]:+.3f})"
_COLUMNS: Columns = {
    "training seed": "{seed}",
    "share": "{share:g}",
    "against the best bot": _CELL % (("bot",) * 3),
    "against the first table alone": _CELL % (("first",) * 3),
    "a response by the model gains": _CELL % (("model",) * 3),
}


class Mixtures(Kept, kind="mixtures", heading="Gain and safety", tables={"mixtures": lines(_COLUMNS, "points")}):
    """What mixtures of plans gain and give, run by run and share by share."""

    says = "Mixtures by the share of plans that the policy of the field makes, with 95 % intervals"


@study(
    "mixtures",
    Mixtures,
    click.argument("policies", nargs=-1, required=True),
    count("--deals", 4000, "Deals of each figure.", 2),
    count("--seconds", 120, "Processor seconds of each attack.", 1),
)
def mixtures(policies: Sequence[str], *, deals: int, seconds: int, progress: Progress = quiet) -> Found:
    """Measure the mixtures of POLICIES, folders of policies or runs of the phase fictitious_play, at several shares."""
    points: list[Found] = []
    made = [_mixture(policy) for policy in policies]
    for policy in made:
        for share in SHARES:
            progress(len(points), len(made) * len(SHARES), f"{policy.name}, share {share:g}")
            points.append({"seed": policy.metadata["made"]["seed"], **_point(policy, share, deals, seconds)})
    return {"game": made[0].game.id, "deals": deals, "seconds": seconds, "points": points}


def _mixture(run: str) -> PolicyAgent:
    found = PolicyAgent(run)
    if not isinstance(found.player, MixturePlayer):
        raise InvalidValue(f"The policy in {run} is no mixture; train one by --set run.phases=fictitious_play.")
    return found


def _point(policy: PolicyAgent, share: float, deals: int, seconds: int) -> dict[str, Any]:
    """What the mixture gains and gives at one share, on deals that nobody trained on."""
    game, seed = policy.game, policy.metadata["made"]["seed"]
    mixed, first = (MixtureAgent(game, policy.arrays, one, f"mixture-{one:g}") for one in (share, 1.0))

    def gain(other: Agent) -> dict[str, Any]:
        found = evaluate(game, [mixed, other], deals=deals, seed=seed)
        mean: dict[str, Any] = found.agents[0].mean_return.to_json()
        return mean

    point = {"share": share, "bot": gain(BotAgent(game)), "first": gain(first)}
    with tempfile.TemporaryDirectory() as folder:
        budget = {"processor_seconds": seconds, "deals": deals, "seed": seed, "out": Path(folder)}
        point["model"] = attack(game, mixed, attackers="model", **budget).gain.to_json()
    return point
