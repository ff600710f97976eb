"""What a search plays on with in the toy games of these tests."""

from __future__ import annotations

from backalley.agents.rule_based import random_act
from backalley.envs.core.parts import Bot

BOTS = (Bot("random", random_act, "Every legal action is equally likely."),)
