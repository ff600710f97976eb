"""What somebody who writes a candidate is given: the interface, what is shown, and the game's page."""

from __future__ import annotations

import re

from backalley.envs.core.game.game import Game
from backalley.envs.core.text import rules_text

from .scripts import meanings

INTERFACE = '''class Game:
    def __init__(self, options: dict, start_outcome: int):
        """A game begins. `options` has every option of the page by its name, choices as their words. `start_outcome` is
        the seat that chance picks where an option says "random"; else it is 0."""

    def turn(self) -> int | str:
        """Who is to act: a seat's number, "deal" where a shuffled pack is wanted, or "over"."""

    def deal(self, deck: list[str]) -> None:
        """Deal from a shuffled pack: names of cards, the top first. Called while turn() is "deal"."""

    def legal(self) -> list[str]:
        """The names of the legal actions of the seat to act, in any order."""

    def act(self, action: str) -> None:
        """The seat to act plays the action of this name, which is legal. What nobody decides follows at once."""

    def rewards(self) -> list[float]:
        """What each seat has gained by the latest action and the deals after it; zeros before the first."""

    def state(self) -> dict:
        """The public values listed in the task, as numbers and lists of numbers."""
'''
_ALSO = re.compile(
    r"^## (?:§[\d.]+ )?(?:Options|Decided|Where the text is silent|Readings|The solo game|Cases).*?(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Parts of a page beside the rules in which something about play is ruled."""
_NO_TEXT = re.compile(
    r"<!-- (picture|results|plot).*?<!-- /\1 -->\n?|<!--.*?-->\n?|^```.*?^```\n", re.MULTILINE | re.DOTALL
)


def task(game: Game) -> str:
    """Return the whole task of one game as text."""
    values = "\n".join(f"* `{name}`: {meaning}" for name, meaning in meanings(game).items())
    cards = " ".join(dict.fromkeys(game.card_name(card) for card in game.pack))
    return f"""# Write the rules of {game.title} as a program

Write the file `{game.name}.py`, with the standard library of Python alone, and in it this class:

```python
{INTERFACE}```

Cards by their names: {cards}

`state()` returns a dictionary with these values; a list over seats or sides has one entry for each:

{values}

The rules:

{rules_text(game)}

{_also_ruled(game)}"""


def _also_ruled(game: Game) -> str:
    """The options of a game's page, and what it decides where its source is silent."""
    page = _NO_TEXT.sub("", (game.type.folder / "README.md").read_text("utf-8"))
    return "\n\n".join(part.strip() for part in map(game.type.reworded, _ALSO.findall(page))) + "\n"
