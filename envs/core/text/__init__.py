"""A game in words: what a seat may know, its legal actions, the rules by paragraph, and a reader of answers.

Whatever plays by words takes them from here: people at a terminal, programs, language models. Imports only the rooms
before it: console, compile, rules, game, engine, drawing and api.
"""

from .page import paragraphs, rules_text
from .position import SO_FAR, event_texts, head_text, legal_texts, observation_text, words_for
from .reader import UnreadableAnswer, legal_sentence, read_among, read_answer, read_phrase

__all__ = [
    "SO_FAR",
    "UnreadableAnswer",
    "event_texts",
    "head_text",
    "legal_sentence",
    "legal_texts",
    "observation_text",
    "paragraphs",
    "read_among",
    "read_answer",
    "read_phrase",
    "rules_text",
    "words_for",
]
