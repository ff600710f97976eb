"""The numbers that Pitch's players differ in."""

from __future__ import annotations

from typing import NamedTuple


class Style(NamedTuple):
    """What `book` and `sharp` differ in. All but chances and `last_trumps` are points."""

    two: float  # that it must expect to bid 2 where nobody can take the bid
    three: float
    four: float
    five: float
    before_dealer: float  # so many more where the dealer can take the bid
    from_partner: float  # or where a partner holds it
    lowest_pitched: float  # with three trumps and no top one, the lowest that leads (2 is 0), if others are left
    partner_takes: float  # how often a partner who can take a trick does
    opponent_takes: float  # and an opponent
    trick: float  # what a trick is worth besides its cards
    pip: float  # some forty decide about Game
    jack: float
    rank: float  # what each rank is worth in hand
    plain_ace: float  # and these cards
    plain_ten: float
    top_trump: float
    trump: float
    trump_rank: float
    trump_ten: float
    trump_jack: float
    low_trump: float  # a trump below 6 while it may be Low, for each rank below 7
    last_trumps: float  # by which a trump's worth is multiplied when others hold none
    lead_trump: float  # what it gains to lead a trump for the side that pitched
    lead_trump_against: float  # and for the other


# Rounded from the mean change of scores after each bid and each card, `book` against itself.
BOOK = Style(
    two=1.95,
    three=2.4,
    four=3.1,
    five=4.0,
    before_dealer=0.25,
    from_partner=0.4,
    lowest_pitched=0.0,
    partner_takes=0.85,
    opponent_takes=0.85,
    trick=0.05,
    pip=0.025,
    jack=1.0,
    rank=0.001,
    plain_ace=0.06,
    plain_ten=0.0,
    top_trump=0.30,
    trump=0.10,
    trump_rank=0.0,
    trump_ten=0.0,
    trump_jack=0.0,
    low_trump=0.0,
    last_trumps=1.0,
    lead_trump=0.0,
    lead_trump_against=0.0,
)
# Found by an evolution strategy (CMA-ES, 12 styles a generation, some 40 generations) for the mean of gains against
# `book` (0.4), `careful` (0.2) and the policy (0.4), then rounded.
SHARP = Style(
    two=1.69,
    three=2.38,
    four=3.09,
    five=4.0,
    before_dealer=-0.47,
    from_partner=0.65,
    lowest_pitched=7.0,
    partner_takes=0.66,
    opponent_takes=1.0,
    trick=0.012,
    pip=0.0494,
    jack=0.48,
    rank=0.0101,
    plain_ace=-0.062,
    plain_ten=-0.126,
    top_trump=0.497,
    trump=0.159,
    trump_rank=0.0207,
    trump_ten=0.252,
    trump_jack=0.306,
    low_trump=0.051,
    last_trumps=1.59,
    lead_trump=-0.092,
    lead_trump_against=-0.17,
)
