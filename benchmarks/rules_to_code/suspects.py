"""Which paragraph of the rules a difference in a hidden game speaks against.

At the first step that differs several kernels ran, each the rule of a paragraph. Those that also ran at many steps that
did not differ are less suspect: they are ranked by Ochiai's coefficient, as in fault localisation (R. Abreu, P.
Zoeteweij, A. van Gemund 2007, On the accuracy of spectrum-based fault localization). With f steps that differ, of which
a kernel ran at e, and p other steps at which it ran, it is e / sqrt(f (e + p)).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def suspects(games: Sequence[tuple[Sequence[Sequence[str]], int | None]]) -> list[list[str]]:
    """Return, for each game that differs, the paragraphs of the kernels that rank highest at the step where it first
    does: several where they rank alike, none where no rule ran.

    A game is the kernels of its steps, each as `§1.3 rules.play`, and the first step that differs, or None. Steps after
    that are not counted.
    """
    differ, agree, failed = Counter[str](), Counter[str](), 0
    for steps, first in games:
        for rules in steps if first is None else steps[:first]:
            agree.update(rules)
        if first is not None and first < len(steps):
            failed += 1
            differ.update(steps[first])
    found = []
    for steps, first in games:
        if first is not None:
            rules = steps[first] if first < len(steps) else ()
            ranks = {rule: differ[rule] / math.sqrt(failed * (differ[rule] + agree[rule])) for rule in rules}
            best = max(ranks.values(), default=0.0)
            found.append(sorted({rule.split()[0] for rule, rank in ranks.items() if math.isclose(rank, best)}))
    return found
