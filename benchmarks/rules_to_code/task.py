"""What somebody who writes a candidate is given: the interface, what is shown, and the game's page."""

from __future__ import annotations

import re

from backalley.envs.core.files.docs import GAME_PARTS
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game

from .fields import meanings

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
_UNPLAYED = re.compile(
    r"^##+ (?:§[\d.]+ )?(?:Bots|Leaderboard|Reference figures|Observation|Events|Exact values|What a seat knows"
    r"|What is hidden|What is seen|Differences).*?(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Parts of a page that say nothing about play: to the next heading of the same level."""
_BUILDS_ON = re.compile(r"§\d+ of\s+\[[^\]]*\]\(\.\./(\w+)/README\.md\)")
_MARKS = re.compile(r"<!-- (picture|results|plot|policies).*?<!-- /\1 -->\n?|<!--.*?-->\n?", re.DOTALL)
_CODE = re.compile(r"^```python.*?^```\n", re.MULTILINE | re.DOTALL)


def task(game: Game) -> str:
    """Return the whole task of one game as text."""
    values = "\n".join(f"* `{name}`: {meaning}" for name, meaning in meanings(game).items())
    cards = " ".join(dict.fromkeys(game.card_name(card) for card in game.pack))
    return f"""# Write the rules of {game.title} as a program

Write the file `{game.name}.py`, with the standard library of Python alone, and in it this class:

```python
{INTERFACE}```

Cards by their names: {cards}

Actions by their names:

{GAME_PARTS["actions"](game)}

`state()` returns a dictionary with these values; a list over seats or sides has one entry for each:

{values}

The rules:

{page(game)}"""


def page(game: Game) -> str:
    """Return how a game is played, from its page and those of games that it builds on: without bots, results, pictures,
    code and what seats see."""
    texts, todo = dict[str, str](), [game.name]
    while todo:
        name = todo.pop(0)
        if name not in texts:
            text = (game_of(name).type.folder / "README.md").read_text("utf-8")
            texts[name] = _CODE.sub("", _MARKS.sub("", _UNPLAYED.sub("", text)))
            todo += _BUILDS_ON.findall(texts[name])
    return "\n\n".join(re.sub(r"\n{3,}", "\n\n", text).strip() for text in texts.values()) + "\n"
