"""Language models as players: what they are asked, and what becomes of their answers. (The reader of answers and the
texts are `test_text.py`'s.)"""

from __future__ import annotations

import pytest

import backalley
from backalley.envs.core.text import UnreadableAnswer, legal_texts
from backalley.examples.kuhn import GAME as KUHN
from backalley.llm import SeatInWords, decide, legal_moves, make_prompt, named_agent, parse_response
from tests.common.cases import GAMES

BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


@BY_NAME
def test_a_prompt_has_the_rules_and_no_legal_moves_unless_asked(game: backalley.Game) -> None:
    state = game.new_state(2)
    prompt, listed = make_prompt(state, since=None), make_prompt(state, legal=True, since=None)
    moves = legal_moves(state)
    assert "\n## §1 Rules" in prompt or "\n## §1" in prompt
    assert prompt.endswith('such as {"action": "NAME"}. The last one counts.')
    assert f"Your legal actions: {', '.join(moves.values())}." in listed
    assert "Your legal actions" not in prompt
    assert "## §1" not in make_prompt(state, rules=False, since=None)
    assert [parse_response(state, f'{{"action": "{name}"}}') for name in moves.values()] == list(moves)


def test_an_unreadable_answer_is_asked_for_once_more_with_what_was_wrong() -> None:
    state, asked = backalley.game("pitch").new_state(1, events=True), list[str]()

    def model(prompt: str) -> str:
        asked.append(prompt)
        return "Perhaps bid 2" if len(asked) == 1 else '{"action": "bid 2"}'

    assert decide(state, model) == state.game.action_number("bid 2")
    assert "not read" not in asked[0]
    assert asked[1].endswith(
        "Your last answer was not read: 'Perhaps bid 2' is no action of Pitch. Legal: pass, bid 2, bid 3, bid 4."
    )


def test_then_the_harness_decides() -> None:
    state, asked = backalley.game("pitch").new_state(1, events=True), list[str]()
    for retries in (0, 1, 3):
        asked.clear()
        with pytest.raises(UnreadableAnswer, match="'well' is no action of Pitch"):
            decide(state, lambda prompt: asked.append(prompt) or "well", retries=retries)  # type: ignore[func-returns-value]
        assert len(asked) == retries + 1
    assert state.decisions == 0
    with pytest.raises(ValueError, match="retries"):
        decide(state, lambda prompt: "pass", retries=-1)


def test_nobody_is_asked_where_nobody_is_to_act() -> None:
    state = backalley.game(KUHN).new_state(1, events=True)
    state.apply(0)
    state.apply(0)
    with pytest.raises(RuntimeError, match="Nobody is to act here"):
        make_prompt(state)


@pytest.mark.slow
@BY_NAME
def test_a_seat_in_words_is_played_to_its_end_and_repeats_by_its_seed(game: backalley.Game) -> None:
    texts = []
    for _ in range(2):
        seat = SeatInWords(game, seat="random", opponent="random", seed=5)
        while not seat.is_over:
            assert seat.state.seat == seat.seat
            seat.act(legal_texts(seat.state)[-1])
        texts.append(seat.text())
        low, high = game.reward_range
        assert low - 1e-6 <= seat.gained <= high + 1e-6
        assert texts[-1].endswith(f"The game is over.\nYour return: {seat.gained:+g}.")
    assert texts[0] == texts[1]


def test_what_cannot_be_read_changes_nothing_and_a_forfeit_costs_the_most() -> None:
    seat = SeatInWords(backalley.game("missouri_city"), seed=1)
    before = seat.text(legal=True)
    with pytest.raises(UnreadableAnswer):
        seat.act("fold")
    assert seat.text(legal=True) == before
    seat.forfeit()
    assert seat.is_over
    assert seat.gained == -1
    with pytest.raises(UnreadableAnswer, match="The game is over"):
        seat.act("hit")
    with pytest.raises(RuntimeError, match="The game is over"):
        seat.hint()


@pytest.mark.parametrize(
    "name", ["human", "sb3:x.zip", "file.py:Class", "./runs", "search", "search:9999", "mc", "", "cmd:sh"]
)
def test_names_from_outside_lead_to_no_file_and_no_code(name: str) -> None:
    with pytest.raises(ValueError, match=r"There is no agent .* here; name random, bot"):
        named_agent(name, backalley.game("pitch"))


def test_names_of_our_agents_are_taken() -> None:
    game = backalley.game("pitch")
    for name in (
        "random",
        "bot",
        "bot:careful",
        "policy",
        "search:8:50",
        "search+bot:8",
        "search+bot:careful:8:50",
        "mc:8",
    ):
        assert named_agent(name, game)
