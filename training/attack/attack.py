"""Attack an agent: look for the best response to it that can be found with a budget, `backalley attack GAME AGENT`.

Whatever is found is a lower bound of what the agent gives to an opponent who knows it: somebody else may find more.
An attack is a folder, and can be stopped at any moment; the same call goes on from there.

runs/attack-<game>-<agent>/
    attack.json              game, options, agent, budget, seed, attackers
    <attacker>/points.json   what it gained along its budget, on the deals that choose
    <attacker>/policies/1    its policies at these points, where it learns
    <attacker>/gain.json     what the chosen one gains, on other deals
    result.json              the result
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from backalley.agents.base.agent import Agent, name_of
from backalley.agents.policies.network_agent import one_thread
from backalley.agents.registry import agent as agent_of
from backalley.benchmarks.figures import results
from backalley.benchmarks.figures.attacks import Attacked
from backalley.benchmarks.figures.result_kinds import of_game
from backalley.benchmarks.matches.evaluate import check_deals, check_seed
from backalley.console.errors import did_you_mean
from backalley.envs.core.files.reading import check_path
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType

from ..run.budget import Budget
from ..run.signals import asked_to_stop, locked
from ..train import Progress
from .attackers import ATTACKERS, Attacker
from .work import AttackError, Setting, Work, selection_deals

DEALS = 4096
SECONDS = 600.0
"""The budget in processor seconds where none is given."""
_RESULT_FILE = "result.json"


def attack(
    game: str | Game | GameType,
    agent: str | Path | Agent | Any,
    *,
    attackers: str | Sequence[str] | None = None,
    seconds: float | None = None,
    processor_seconds: float | None = None,
    decisions: int | None = None,
    deals: int = DEALS,
    seed: int = 0,
    out: str | Path | None = None,
    config_overrides: Mapping[str, Any] | None = None,
    progress: Progress = lambda done, total, words: None,
    log: Callable[[str], None] = lambda sentence: None,
) -> Attacked:
    """Look for the best response to `agent`, which plays all other sides and never changes; return what it gains over
    equality, at least.

    Game and agent are given as in `evaluate`. `attackers` are names of `ATTACKERS`, by default all that apply. They
    share the budget evenly: `processor_seconds` of all cores together (600 by default), `seconds` by the clock, or
    `decisions` on the tables that they learn on; what comes first ends them. Learning counts, and the play of a search
    does; measuring the others does not. Each offers four responses along its budget (a search, of three sizes); on
    half as many deals (2,048 at most) the one with the highest lower end of its interval is chosen. The published
    gains are of up to `deals` other deals, each in every seating; the best attacker is the one whose gain there has the
    highest lower end. A search is measured on
    as many as its half of the budget allows.

    `out` is the attack's folder, by default one under runs/. Where it holds a part of this attack, the call goes on
    from there. `config_overrides` are settings of training by dotted names. With `decisions` alone, the same seed gives
    the same result.

    Raises Stopped after Ctrl-C or SIGTERM, with everything saved; AttackError for a game of one seat, an unknown
    attacker, and the folder of something else; ValueError as `evaluate` and `train` do.

    >>> from backalley.examples import kuhn
    >>> found = attack(kuhn.GAME, "random", attackers=["ppo"], decisions=400_000)  # doctest: +SKIP
    >>> found.gain.low > 0.4  # doctest: +SKIP
    True
    """
    game = game_of(game)
    budget = _budget(seconds, processor_seconds, decisions)
    check_deals(deals)
    check_seed(seed)
    victim = _victim(game, agent)
    refused = {name: one.refuses(game, victim) for name, one in _named(attackers).items()}
    chosen = [name for name, why in refused.items() if not why]
    refused = {name: why for name, why in refused.items() if why}
    if not chosen:
        raise AttackError(f"No attacker is left for {name_of(victim)}: {' '.join(refused.values())}")
    for name, why in refused.items():
        log(f"No attack by {name}: {why}")
    setting = Setting(game, victim, budget, deals, seed, dict(config_overrides or {}), chosen)
    folder = check_path(
        Path("runs") / f"attack-{_word(game.name)}-{_word(name_of(victim))}" if out is None else Path(out)
    )
    named = str(agent) if isinstance(agent, (str, Path)) else name_of(victim)
    command = ["backalley", "attack", game.spec, named, *game.option_words, *budget.words(), "--seed", str(seed)]
    try:
        with locked(folder), one_thread(), asked_to_stop(log) as asked:
            found = Work(setting, folder, shlex.join(command), asked, progress, log).run()
    finally:
        if isinstance(agent, (str, Path)):
            victim.close()
    result = Attacked(
        **of_game(game, __file__),
        agent=name_of(victim),
        seed=seed,
        deals=deals,
        selection_deals=selection_deals(deals),
        budget={name: value for name, value in vars(budget).items() if value is not None},
        attackers=found,
        refused=refused,
    )
    results.write(folder / _RESULT_FILE, result.to_json())
    return result


def _budget(seconds: float | None, processor_seconds: float | None, decisions: int | None) -> Budget:
    if (seconds, processor_seconds, decisions) == (None, None, None):
        processor_seconds = SECONDS
    budget = Budget(seconds, decisions, processor_seconds)
    if isinstance(budget.decisions, tuple):
        raise AttackError(f"decisions is {decisions!r}; an attack takes one number, and shares it out evenly.")
    return budget


def _victim(game: Game, agent: Any) -> Agent:
    """The agent that is attacked. Raises AttackError where nobody else sits at the table, or it cannot be asked."""
    if game.num_sides == 1:
        raise AttackError(
            f"{game.name} has one seat under these options, and nobody there to respond to; an agent alone is measured "
            "by evaluate, and against best play by solve."
        )
    victim = agent_of(agent, game)
    if victim.one_table:
        raise AttackError(
            f"{name_of(victim)} plays at this terminal; attack a bot, a policy, a search or your own agent."
        )
    return victim


def _named(attackers: str | Sequence[str] | None) -> dict[str, Attacker]:
    given = attackers.split(",") if isinstance(attackers, str) else attackers
    names = list(ATTACKERS) if given is None else list(dict.fromkeys(given))
    for name in names:
        if name not in ATTACKERS:
            known = ", ".join(ATTACKERS)
            raise AttackError(f"There is no attacker {name!r}; there are: {known}.{did_you_mean(name, ATTACKERS)}")
    if not names:
        raise AttackError(f"attackers names none; there are: {', '.join(ATTACKERS)}.")
    return {name: ATTACKERS[name] for name in names}


def _word(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_+.]+", "_", name)
