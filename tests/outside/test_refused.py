"""What users give wrongly, at every command: each is answered with one sentence, and writes nothing."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.tournament import tournament
from backalley.console.errors import BackAlleyError, NotInstalled
from backalley.envs.core.compile import tiering
from backalley.envs.core.game import catalogue
from backalley.examples import kuhn
from backalley.records import record_games
from backalley.training.attack.attack import attack
from backalley.training.seeds import train_seeds
from backalley.training.train import train
from tests.benchmarks.test_charts import curve_file
from tests.common import high_card
from tests.common.commands import run
from tests.common.tiny_runs import files

YAML = {
    "list": "- 1",
    "number": "ppo: 3",
    "section": "pp:\n  epochs: 2",
    "setting": "ppo:\n  epoch: 2",
    "value": "ppo:\n  epochs: 0",
    "names": "ppo:\n- epochs",
    "option": "options:\n  second: 1",
    "bracket": "a: [",
    "python": "a: !!python/object/apply:os.getcwd []",
    "twice": "ppo:\n  tables: 1\nppo:\n  tables: 2\n",
    "twice_within": "run:\n  log_every: 1\n  log_every: 2\n",
    "sixty": "run:\n  seconds: 1:30\n",
    "nothing_section": "from_nothing:\n  rollout: {}",
    "nothing_setting": "from_nothing:\n  rollouts:\n    windows: 1",
    "nothing_itself": "from_nothing:\n  from_nothing: {}",
    "nothing_number": "from_nothing: 3",
}
"""Files of settings, by their names."""
REFUSED: dict[str, list[tuple[str, str]]] = {
    "": [
        ("evalute kuhn", "There is no command 'evalute'. Did you mean evaluate?"),
        ("tournamnt kuhn", "There is no command 'tournamnt'. Did you mean tournament?"),
        ("newgame kuhn", "There is no command 'newgame'. Did you mean new-game?"),
        ("rules pitch §99", "has no paragraph '§99'"),
        ("rules high_card", "high_card has no page: there is no README.md beside its game.py."),
        ("replay none.json", "none.json cannot be read as a playthrough"),
        ("check no_such.game", "no module 'no_such'"),
        ("speed kuhn --tables 100000000000", "up to "),
        ("speed --option first=1", "--option goes with one game."),
        ("tournament kuhn random", "A tournament needs 2 agents or more"),
        ("solve high_card", "high_card cannot be solved"),
        ("solve bezique", "bezique is too large to walk through: 64 of 64 cards are drawn"),
        ("solve kuhn --least 0.1", "--best and --least go with --agent."),
        ("solve missouri_city --deck '4S TH' --cluster auto", "--cluster is for whole games"),
    ],
    "play": [
        ("kuhn --seat 2 --opponent random", "Seat 2 was asked for; kuhn has seats 0..1"),
        ("high_card --option seats=1 --opponent random", "has one seat under these options; there is no opponent to"),
        ("high_card --option seats=1 --opponent nosuch", "There is no agent 'nosuch'"),
    ],
    "evaluate": [
        ("snap random", "There is no game 'snap'"),
        ("kuhn random", "kuhn has 2 seats under these options, and 1 agent was given; give 2."),
        ("kuhn random random --option last=1", "kuhn has no option 'last'; it has: first."),
        ("kuhn random random --option first=7", "kuhn option first is '7'; it takes 0..1."),
        ("kuhn random random --option first", "'first' is not of the form NAME=VALUE."),
        ("kuhn random random --deals 1", "deals is 1; an interval needs 2 or more"),
        ("kuhn random random --json none/found.json", "There is no folder none"),
        ("kuhn random random --deals 10 --precision 0.1", "not both"),
        ("kuhn random random --precision 0.1 --until 0.1", "Give precision or until, not both"),
        ("kuhn random random --precision 0", "greater than 0"),
        ("kuhn random random --precision 1e-9", "would take"),
        ("kuhn random random --seed -1", "-1 is not in the range x>=0."),
        ("kuhn random random --until 0", "until is 0; it is 'decided', or a half-width"),
        ("kuhn random random --until soon", "'soon' is neither a half-width, such as 0.01, nor decided."),
        ("kuhn random random --threads 100000", "100000 is not in the range 1<=x<=1024"),
        ("backhand bot --until decided", "compares agents, and 1 was given"),
    ],
    "record missouri_city bot": [
        ("", "Name one file: --out, --jsonl or --parquet."),
        ("--out a.json --games 2", "--out is for one game; "),
        ("--jsonl a --out b", "Name one file: "),
        ("--jsonl a.parquet", "A file of --parquet, and no other, has a name that ends in .parquet."),
        ("--jsonl a --games 0", "0 is not in the range x>=1."),
        ("--jsonl a --names --values bot", "computes no values"),
        ("bot bot --jsonl a", "3 agents were given"),
    ],
    "score-rules": [("", "Name a FOLDER"), ("nowhere", "no folder"), (".", "no candidate")],
    "attack": [
        ("backhand bot", "backhand has one seat"),
        ("kuhn random --attackers ppo,pp0", "no attacker 'pp0'; "),
        ("kuhn random --attackers plans", "No attacker is left for random: "),
        ("kuhn human", "plays at this terminal"),
        ("kuhn random --seconds 0", "seconds is 0"),
        ("kuhn random --deals 1", "deals is 1"),
        ("kuhn random --seed -1", "-1 is not in the range x>=0."),
        ("kuhn nobody", "There is no agent 'nobody'"),
    ],
    "train": [
        ("", "Name a game to train on, or the folder of a run with --resume."),
        ("--resume none --seed 5", "A resumed run keeps its seed, options, settings, folder and"),
        ("kuhn --resume none", "There is no run in none: it has no run.json."),
        ("kuhn --restart", "A restart needs the folder of a run: --resume FOLDER --restart."),
        ("backhand --against random --decisions 100", "is played alone"),
    ],
    "train kuhn": [
        ("--seed 1 --seeds 0-4", "Give --seed or --seeds, not both."),
        ("--seeds 0-1 --out full", "is not an empty folder; name another one with --out."),
        ("--seeds 0-1 --out full/note.txt/x", "No runs can begin in"),
        ("--seeds 0-1 --set gamma=1", "There is no setting 'gamma'"),
        ("--out full", "is not an empty folder; name another one with --out."),
        ("--out /dev/null/run", "No run can begin in /dev/null/run: Not a directory"),
        ("--decisions 0", "decisions is 0; a budget is a whole number greater than 0, or"),
        ("--decisions 5,5", "decisions is 5,5, and the run has 1 phase (ppo); give"),
        ("--seconds 0", "seconds is 0.0; a budget is a number greater than 0."),
        ("--seconds nan", "seconds is nan; a budget is a number greater than 0."),
        ("--processor-seconds inf", "processor_seconds is inf; a budget is a number greater than 0."),
        ("--seed 1099511627776", "1099511627776"),
        ("--device mps", "device is 'mps'; it takes auto, cpu, cuda or cuda:N"),
        ("--config none.yaml", "none.yaml cannot be read: No such file or directory."),
        ("--config list.yaml", "must hold the sections"),
        ("--config number.yaml", "section ppo is 3; it must name its settings"),
        ("--config section.yaml", "section.yaml has no section 'pp'; it has: "),
        ("--config setting.yaml", "setting.yaml: ppo has no setting 'epoch'; it has: tables, "),
        ("--config value.yaml", "--config: ppo option epochs is 0; it takes 1..100"),
        ("--config names.yaml", "the section ppo is ['epochs']; it must name its settings"),
        ("--config option.yaml", "training options of kuhn are wrong: kuhn has no option 'second'; it has: first"),
        ("--config bracket.yaml", "cannot be read as YAML"),
        ("--config python.yaml", "cannot be read as YAML"),
        ("--config twice.yaml", "it names ppo twice"),
        ("--config twice_within.yaml", "it names log_every twice"),
        ("--config sixty.yaml", "1:30 is a number to the base of 60 in YAML"),
        ("--config nothing_section.yaml", "from_nothing has no section 'rollout'; "),
        ("--config nothing_setting.yaml", "from_nothing: rollouts has no setting 'windows'"),
        ("--config nothing_itself.yaml", "from_nothing has no section 'from_nothing'"),
        ("--config nothing_number.yaml", "from_nothing is 3; it must hold sections of settings"),
        ("--against mc:4", "cannot be played against mc:4"),
        ("--against nobody", "There is nobody to play against: There is no agent 'nobody'"),
        ("--against bot --set run.phases=ppo", "leave run.phases and attack.against out"),
        ("--set run.phases=rollouts --from nowhere", "Nothing can begin from nowhere: There is no policy in"),
    ],
    "train kuhn --set": [
        ("gamma=1", "There is no setting 'gamma'. Did you mean ppo.gamma?"),
        ("ppo.lr=1", "There is no setting 'ppo.lr'. Settings are ppo.tables"),
        ("speed=11", "There is no setting 'speed'. Settings are ppo.tables"),
        ("width=1", "There is no setting 'width'. Did you mean network.width?"),
        ("ppo.learning_rat=1", "There is no setting 'ppo.learning_rat'. Did you mean ppo.learning_rate? Settings are "),
        ("ppo.learning_rate=fast", "learning_rate is 'fast'; it takes 0..1"),
        ("ppo.epochs=0", "epochs is '0'; it takes 1..100"),
        ("options.second=11", "The training options of kuhn are wrong"),
        ("rollouts.temperature=-1", "rollouts option temperature is '-1'; it takes 0 or more"),
        ("run.wandb=a/b", "run option wandb is 'a/b': it must be the name of a project: at most 128"),
        (f"run.wandb={'x' * 129}", "it must be the name of a project: at most 128"),
        ("run.phases=", "--set: run option phases is '': a run has 1 to 20 phases."),
        (f"run.phases={'ppo,' * 20}ppo", "a run has 1 to 20 phases."),
        ("run.phases=pop", "'pop' is no kind of phase; there are: "),
        ("run.phases=pop", " Did you mean ppo?"),
        ("run.phases=ppo:much", "the share of ppo is 'much'; it must be greater than 0, and 1 at most."),
        ("run.phases=ppo:0", "the share of ppo is '0'; it must be greater than 0"),
        ("run.phases=ppo:nan", "the share of ppo is 'nan'; it must be greater than 0"),
        ("run.phases=ppo:1,plans", "the shares sum to 1, which leaves nothing for a phase without one."),
        (
            "run.phases=ppo:0.5,plans:0.4",
            "the shares sum to 0.9; they must sum to 1, or leave one out to take the rest",
        ),
        ("run.phases=plans", "The phase plans learns nothing here: kuhn has no plans"),
        ("run.phases=plans --set run.objective=games", "run.objective is games, but the phase plans learns the points"),
        ("run.phases=attack --set attack.against=bot,random", "an attack is on one agent"),
        ("run.phases=attack --set attack.against=", "names nobody"),
    ],
    "train kuhn --set run.phases=rollouts --set": [
        ("rollouts.held_out=512", "rollouts.held_out is 512 and rollouts.tables 512: "),
        ("rollouts.second=0.6 --set rollouts.self_play=0.5", "sum to 1.1; they are shares of the other seats"),
        ("rollouts.held_out=0", "held_out is 0 and rollouts.learned is residual"),
        ("rollouts.temperature=0.5", "rollouts.temperature is 0.5 and rollouts.learned is residual: only advantages"),
        ("rollouts.plays_at=0.5", "rollouts.plays_at is 0.5 and rollouts.learned is residual"),
        (
            "rollouts.base=self --set rollouts.learned=residual --set rollouts.held_out=8 --set rollouts.temperature=0",
            "but without a bot",
        ),
        ("network.features=true", "network.features is true, and kuhn declares no features of actions"),
        ("rollouts.frozen=0.1", "rollouts.against names nobody"),
    ],
    "train poker_duel --set": [("plans.best_bot=0.9 --set plans.past=0.2", "must not sum to more than 1")],
    "plot run": [
        ("--out x.gif", "A picture is .svg, .png or .pdf"),
        ("--out nowhere/x.svg", "There is no folder"),
        ("--out x.svg --measure wins", "measure is 'wins'; it is one of win_share, mean_return, lead."),
        ("--out x.svg --across hours", "across is 'hours'; it is one of seconds"),
        ("--out x.svg --across samples", "has no samples; there are: decisions, seconds"),
    ],
    "report": [
        ("run --out r.pdf", "A report is .html"),
        ("run --out nowhere/r.html", "There is no folder"),
        ("empty --out r.html", "is no run, no policy with a learning curve, and no folder of results"),
    ],
    "dev": [
        ("tune backhand chances", "backhand has no tables of chances; poker_duel has."),
        ("tune poker_duel odds", "poker_duel has no table 'odds'; there are: chances, misere_chances"),
        ("odds twenty_one num_players=5", "The odds of Twenty-One are those under its default options"),
        ("playthrough pitch --bot best", "pitch has no bot 'best'; there are: careful, sharp, book."),
        ("publish nowhere standard --game kuhn", "There is no policy in"),
        ("speed backhand --against no-such-commit", "There is no commit 'no-such-commit' in"),
        ("study searchs", "There is no command 'searchs'. Did you mean searches?"),
        ("study enter backhand 'my agent' random", "'my agent' is no label; a label has letters, digits and _."),
        ("study enter backhand bot_planner nobody", "There is no agent 'nobody'"),
        ("study throughput backhand --phases nothing", "nothing is no kind of phase"),
        ("study library gym", "The guide has no program for 'gym'; there are: torchrl, tianshou, rllib."),
        ("study peers open_spie", "There is no peer 'open_spie'. Did you mean open_spiel?"),
        ("study ladder pitch bezique --with a=random", "--with goes with one game"),
        ("study ladder pitch --with random", "'random' is not of the form LABEL=AGENT"),
        ("study ladder pitch --with a=nobody", "There is no agent 'nobody'"),
    ],
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a run, a full folder, an empty one and files of settings; and two games that have names."""
    monkeypatch.setattr(catalogue, "_registered", {"kuhn": kuhn.GAME, "high_card": high_card.GAME})
    monkeypatch.chdir(tmp_path)
    curve_file(tmp_path)
    for folder in ("full", "empty"):
        Path(folder).mkdir()
    Path("full/note.txt").write_text("mine")
    for name, text in YAML.items():
        Path(f"{name}.yaml").write_text(text)


@pytest.mark.parametrize(
    ("line", "sentence"), [(f"{first} {rest}", says) for first, rows in REFUSED.items() for rest, says in rows]
)
def test_a_wrong_word_is_answered_in_a_sentence(line: str, sentence: str) -> None:
    before = files(Path())
    done = run(*shlex.split(line))
    assert done.exit_code == 2, done.output
    said = done.stderr.rpartition("\n\n")[2].removeprefix(f"{tiering.MESSAGE}\n")  # after how the command is used
    assert said.startswith("Error: ")
    assert sentence in said
    assert said.count("\n") == 1
    assert done.stdout == ""
    assert files(Path()) == before


FUNCTIONS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (train, {"decisions": "5"}, "decisions is '5'; a budget is a whole number greater than 0, or one"),
    (train, {"decisions": True}, "decisions is True; a budget is a whole number greater than 0, or one"),
    (train, {"decisions": []}, "a budget is a whole number greater than 0, or one"),
    (train, {"seconds": True}, "seconds is True; a budget is a number greater than 0."),
    (train, {"processor_seconds": "5"}, "processor_seconds is '5'; a budget is a number greater than 0."),
    (train, {"seed": -1}, "The seed is -1"),
    (train, {"seed": "7"}, "The seed is '7'; it must be a whole number of 0..4294967295."),
    (train, {"seed": True}, "The seed is True"),
    (train, {"out": 5}, "out is 5; it takes a path."),
    (train, {"out": ""}, "out is ''; it takes a path."),
    (train, {"resume": 5}, "resume is 5; it takes a path."),
    (train, {"config": 5}, "config is 5; it takes a path."),
    (train, {"config_overrides": "ppo.epochs=2"}, "config_overrides is 'ppo.epochs=2'; it takes settings"),
    (train, {"config_overrides": {5: 1}}, "There is no setting 5."),
    (train, {"config_overrides": {"run.wandb": 5.5}}, "run option wandb is 5.5"),
    (train, {"config_overrides": {"run.wandb": None}}, "run option wandb is None"),
    (train, {"config_overrides": {"run.wandb": "a\nb"}}, "it must be the name of a project: at most 128"),
    (train, {"config_overrides": {"run.phases": 5}}, "it must be a list of phases, such as [ppo]."),
    (train, {"config_overrides": {"run.phases": []}}, "a run has 1 to 20 phases."),
    (train, {"config_overrides": {"run.phases": {"ppo": 1}}}, "it must be a list of phases, such as [ppo]."),
    (train, {"config_overrides": {"run.phases": [["ppo"]]}}, "['ppo'] is no kind of phase"),
    (train, {"config_overrides": {"run.phases": [{"ppo": 0.5, "plans": 0.5}]}}, "is no kind of phase"),
    (train, {"config_overrides": {"run.phases": [{"ppo": True}]}}, "the share of ppo is True; it must be greater th"),
    (train, {"device": 5}, "device is 5; it takes auto, cpu, cuda or cuda:N"),
    (train, {"against": 3}, "against is 3; it takes an agent's name"),
    (train_seeds, {"out": "x"}, "Several seeds need a game and the seeds"),
    (train_seeds, {"game": None, "seeds": "0-1"}, "Several seeds need a game and the seeds"),
    (train_seeds, {"game": None, "resume": "full"}, "There are no runs of several seeds in"),
    (train_seeds, {"game": None, "resume": "x", "seeds": "0-1"}, "Resumed runs keep their seeds, options, settings,"),
    (attack, {"agent": "random", "attackers": []}, "attackers names none"),
    (attack, {"agent": "random", "decisions": [3, 4]}, "shares it out evenly"),
    (attack, {"agent": "random", "seed": -1}, "The seed is -1"),
    (evaluate, {"agents": ["bot"] * 2, "seed": -1}, "The seed is -1"),
    (evaluate, {"agents": ["bot"] * 2, "until": True}, "until is True"),
    (evaluate, {"agents": ["bot"] * 2, "num_threads": 100_000}, "num_threads is 100000; it takes 0, which is every"),
    (tournament, {"agents": ["bot"] * 2, "num_threads": 100_000}, "num_threads is 100000; it takes 0, which is eve"),
    (record_games, {"agents": "bot", "path": "x.jsonl", "games": 0}, "games is 0"),
    (record_games, {"agents": "bot", "path": "x.jsonl", "games": 1, "seed": -1}, "seed is -1"),
    (record_games, {"agents": "bot", "path": "x.jsonl", "games": 1, "extra": ["cards"]}, "no column 'cards'"),
    (record_games, {"agents": "bot", "path": "x.jsonl", "games": 1, "extra": ["values"]}, "no column 'values'"),
]


@pytest.mark.parametrize(
    ("function", "given", "sentence"), FUNCTIONS, ids=lambda value: getattr(value, "__name__", str(value)[:60])
)
def test_a_wrong_argument_is_answered_in_a_sentence(
    function: Callable[..., Any], given: dict[str, Any], sentence: str
) -> None:
    before = files(Path())
    with pytest.raises(BackAlleyError, match=re.escape(sentence)) as caught:
        function(**{"game": kuhn.GAME, **given})
    assert "\n" not in str(caught.value)
    assert files(Path()) == before


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("mcp", "mcp"),
        ("openenv", "openenv"),
        ("openspiel", "pyspiel"),
        ("torchrl", "torchrl"),
        ("torchrl", "tensordict"),
    ],
)
def test_without_a_package_a_sentence_says_what_to_install(
    name: str, needed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [one for one in sys.modules if one.startswith(f"backalley.{name}")]:
        monkeypatch.delitem(sys.modules, module)
    for module in [one for one in sys.modules if one.startswith(f"{needed}.")] + [needed]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NotInstalled, match=rf"pip install 'backalley\[{name}\]'"):
        importlib.import_module(f"backalley.{name}")
