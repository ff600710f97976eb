"""Poker Duel: two players split fifteen cards into three poker hands, which meet in order for one, two and three
points.

Between split and showdown each may exchange two cards of the hand that is being fought, blind and in turns. The rules
are README.md.
"""

from __future__ import annotations

from ..core.compile.interfaces import Kernels, Plans
from ..core.game.declaration import PlanModel, Preset
from ..core.game.game import GameType
from ..core.rules.symmetry import Suits
from . import VERSION, events, observation, rules, slots, text
from .bot import BOTS
from .bots import planning, responding
from .bots.around import imagine
from .observation import Observation
from .state import HAND, NUM_ACTIONS, SLOTS, FirstDealer, Options, State, check, named_suits, pack_size

_CUT_DOWN = {"episode": "sudden_death", "first_dealer": "seat_0", "exchanges_per_round": 1, "max_sudden_death": 1}

GAME = GameType(
    module=__name__,
    name="poker_duel",
    version=VERSION,
    title="Poker Duel",
    kernels=Kernels(rules.start, rules.deal, rules.legal, rules.step, observation.observe, observation.determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    action_str=text.action_str,
    table=text.table,
    action_told=text.action_told,
    piles=text.piles,
    events=events.EVENTS,
    private=("slots", "unassigned", "next_card", "discards", "category"),
    stock=events.stock,
    deck_size=pack_size,
    reward_range=rules.reward_range,
    zero_sum=lambda options: True,
    bots=BOTS,
    num_start_outcomes=lambda options: 2 if options.first_dealer == FirstDealer.RANDOM else 1,
    presets={
        "letter": Preset(
            {"nothing_scores": False},
            "the text by its words: high cards decide in sudden death only, so that a round of nothing against nothing "
            "scores nothing (§1.6)",
        ),
        "tiny": Preset(
            {**_CUT_DOWN, "suits": 1},
            "cut down to be solved: one hand of sudden death, one exchange each, with the cards of one suit (§2)",
        ),
        "small": Preset({**_CUT_DOWN, "suits": 2}, "the same with two suits (§2)"),
    },
    check=check,
    # But for the order in which the cards of one rank are offered (§3), which is by suit, and matters to no split.
    suits=Suits(named_suits, actions=((0, 52),)),
    leaf_value=rules.leaf_value,
    imagine=imagine,
    # Of exchanges; splits have the z_threshold of plans. *Measured*, mean return of search:96 against `strong` over the
    # same 400 deals: +0.125 with a z_threshold of 1 in exchanges, +0.142 with one of 3, by which they are left to
    # `strong` (+0.018 ± 0.020 apart). In misère nothing is planned, and 1 and 2 came to -0.018 ± 0.038 and 0.000 ±
    # 0.037 against `misere`.
    z_threshold=3.0,
    plans=Plans(
        parts=SLOTS,
        steps=HAND,
        act=planning.act,
        candidates=planning.candidates,
        restart=slots.restart,
        look=planning.look,
        values=planning.bot_values,
        refuses=planning.refuses,
    ),
    plan_model=PlanModel(
        key=responding.key,
        classes=responding.classes,
        width=responding.RESULT,
        result=responding.result,
        counts=responding.counts,
        values=responding.values,
    ),
    speed_floor=9_000_000,
)
