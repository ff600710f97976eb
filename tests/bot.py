"""What a search plays on with in the toy games of these tests."""

from __future__ import annotations

from backalley.envs.core.compile.interfaces import Bot
from backalley.envs.core.engine.batch_play import random_act

BOTS = (Bot("random", random_act, "Every legal action is equally likely."),)
