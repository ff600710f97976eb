"""A model card beside each pretrained policy: what it is, what it learned from, how strong it is, what attacks gain.

`backalley dev docs` writes them, and the table of its policies in a game's page. A card begins with the fields that
model hubs read; all else comes from the policy's own metadata and from the files of `benchmarks/results`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from backalley.agents.policies.policy_file import player_of
from backalley.agents.policies.policy_kinds import Residual
from backalley.agents.policies.pretrained import Pretrained, pretrained
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import games
from backalley.envs.core.game.game import Game

from ...figures.formatting import MET, Found, bound, changed, markdown, notes
from ...figures.result_kinds import KINDS, table_of
from ..strength.best_agents import met_bots, tables_of
from ..strength.ladder import rungs_of

CARD = "README.md"
_TAGS = ("reinforcement-learning", "card-game", "imperfect-information")


def model_cards(results: Path) -> dict[Path, str]:
    """Return the card of every pretrained policy, by its place; `results` is the folder of results."""
    files = [read_json(path) for kind in ("ladder", "attack") for path in sorted(results.glob(f"{kind}_*.json"))]
    return {one.folder / CARD: card(game.type.bind(), one, files) for game in games() for one in pretrained(game)}


def card(game: Game, one: Pretrained, files: Sequence[Found]) -> str:
    """Return the card of one policy as Markdown."""
    trained = game.type.bind(one.metadata["options"])
    parts = [
        _front_matter(game),
        f"# {one.spec} of {game.title}\n",
        "<!-- This page is written by `backalley dev docs`. -->\n",
        _about(trained, one),
        "## How it was trained\n",
        _training(one),
        "## How strong it is\n",
        _strength(trained, one, files),
        "## What an attack gains\n",
        _attacks(trained, one, files),
        "## How to use it\n",
        _use(trained, one),
    ]
    return "\n".join(parts)


def _front_matter(game: Game) -> str:
    tags = "\n".join(f"- {tag}" for tag in (*_TAGS, game.id))
    return f"---\nlicense: mit\nlibrary_name: backalley\npipeline_tag: reinforcement-learning\ntags:\n{tags}\n---\n"


def _about(game: Game, one: Pretrained) -> str:
    options, others = trained_for(game, one), served(one)
    more = f" It serves {others} as well." if others else ""
    megabytes = one.metadata["weights"]["bytes"] / 1e6
    return (
        f"It plays every seat of [{game.title}](../../README.md) (`{game.id}`) under {options}.{more} What it is: "
        f"{what(one)}. Its weights take {megabytes:.2f} MB (`policy.safetensors`); `policy.json` holds "
        "everything else, and `curve.json` the learning curve of its run.\n"
    )


def _training(one: Pretrained) -> str:
    made = one.metadata["made"]
    met = met_bots(made)
    if met is None:
        who = "Its file does not say which bots it met."
    elif met:
        who = f"It met {', '.join(f'`bot:{name}`' for name in met)} in training, besides itself."
    else:
        who = "It met no bot in training, only itself."
    earlier = [name for name in made.get("against", ()) if not name.startswith("bot:")]
    if earlier:
        who += f" It met earlier policies, too: {', '.join(f'`{name}`' for name in earlier)}."
    numbers = f"{made['decisions']:,} decisions, seed {made['seed']}, {made['seconds'] / 60:.1f} minutes by the clock."
    return f"{numbers} {who} All decks of training were dealt at random; none of them is used below.\n\n" + _shell(
        [made["command"]]
    )


def _strength(game: Game, one: Pretrained, files: Sequence[Found]) -> str:
    lines = [*_rungs(game, one, files)]
    if not lines:
        return "Not measured yet.\n"
    ladders = [found for found in files if any(bound(table) == game for table in tables_of([found]))]
    shown = table_of(lines, [], ("options",))
    assert not isinstance(shown, str)
    its_notes = [note for note in notes(ladders) if one.spec in note or note.startswith(MET)]
    return "\n\n".join([markdown(shown.head, shown.rows, left=shown.left), *its_notes]) + "\n"


def _rungs(game: Game, one: Pretrained, files: Sequence[Found]) -> Iterator[dict[str, str]]:
    """The row of the policy in the ladder of its options, and that of the baseline, which it played."""
    for table in tables_of(files):
        if bound(table) == game:
            rows = [row for row in table["rows"] if row["label"] in (one.spec, "random", table["against"])]
            yield from rungs_of({**table, "rows": rows, "null": None})


def _attacks(game: Game, one: Pretrained, files: Sequence[Found]) -> str:
    if game.num_sides == 1:
        return "Nobody plays against it: seats play alone in this game.\n"
    names = (one.spec, one.metadata["name"])
    found = [file for file in files if file["kind"] == "attack" and file["agent"] in names and bound(file) == game]
    if not found:
        return "Nobody has looked for a best response to this policy yet. `backalley attack` does.\n"
    kind = KINDS["attack"]
    shown = table_of(kind.tables["attack"](found), [], ("options", "agent"))
    assert not isinstance(shown, str)
    table = markdown(shown.head, shown.rows, left=shown.left)
    return "\n\n".join([table, *kind.footnotes(found), _shell([file["command"] for file in found])])


def _use(game: Game, one: Pretrained) -> str:
    options = "".join(f", {name}={_literal(value)}" for name, value in game.changed_options.items())
    words = " ".join([game.name, *game.option_words])
    code = [
        "import backalley",
        "",
        f'game = backalley.game("{game.name}"{options})',
        f'policy = backalley.agent("{one.spec}", game)',
    ]
    return (
        "\n".join(["```python", *code, "```", "", ""])
        + _shell([f"backalley evaluate {words} {one.spec} bot"])
        + "\nAn attack says what an opponent gains who knows it, at least; another attack may gain more. How well it "
        "plays under options that are not named above nobody has measured. The files hold numbers and text; loading "
        "them executes nothing.\n"
    )


def _literal(value: object) -> str:
    """A value of an option as Python code."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _shell(commands: Sequence[str]) -> str:
    return "\n".join(["```sh", *commands, "```", ""])


def policies(game: Game) -> str:
    """Return the pretrained policies of a game: what each is, its options, and the command that makes it again."""
    found = pretrained(game)
    if not found:
        return "No policy comes with this game yet."
    rows = [
        [f"[`{one.spec}`](policy/{one.name}/README.md)", what(one), trained_for(game, one), served(one), _minutes(one)]
        for one in found
    ]
    table = markdown(["agent", "what it is", "made for", "serves as well", "minutes of training"], rows, left=4)
    return "\n".join([table, "", "```sh", *(one.metadata["made"]["command"] for one in found), "```"])


def what(one: Pretrained) -> str:
    """Return what a policy is, and how it learned, in a few words."""
    player, how = player_of(one.metadata), one.metadata["made"].get("algorithm", "")
    kind = player.meaning if isinstance(player, Residual) else "learned play"
    return f"{kind} ({how})" if how else kind


def trained_for(game: Game, one: Pretrained) -> str:
    """Return the options under which a policy was trained, in words."""
    return changed(game.type.bind(one.metadata["options"]).changed_options) or "the default options"


def served(one: Pretrained) -> str:
    """Return the further options that a policy serves, in words; empty if there are none."""
    served = one.metadata["serves"].items()
    return " ".join(changed({option: value}) for option, values in served for value in values)


def _minutes(one: Pretrained) -> str:
    seconds = one.metadata["made"].get("seconds")
    return f"{seconds / 60:.1f}" if isinstance(seconds, int | float) else ""
