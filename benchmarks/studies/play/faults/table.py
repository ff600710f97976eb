"""The faults: what a program (`program.py`) or the server of a language model (`server.py`) does wrong."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """Something that a player does wrong."""

    side: str
    """`cmd` for a program, `llm` for the server of a language model."""
    name: str
    """What it does; `program.py` and `server.py` know it by this name."""
    said: str = ""
    """A regular expression of what is said about it."""
    when: str = "play"
    """`play` where it comes at a decision (of a server, also at the first question), `play only` and `hello` where just
    there, `harmless` where every game is played out."""


SILENT = "no answer for"
LATE = f"{SILENT}|did not end within"
NONE = f"{SILENT}|does not answer as a server"

FAULTS = (
    Fault("cmd", "ends at the hello", "exit status 1 after saying: not today", "hello"),
    Fault("cmd", "is silent at the hello", SILENT, "hello"),
    Fault("cmd", "is of another version", "protocol 2", "hello"),
    Fault("cmd", "greets in UTF-16", "no JSON", "hello"),
    Fault("cmd", "greets with a list", "no JSON object", "hello"),
    Fault("cmd", "greets without end", "more than 1,048,576 bytes", "hello"),
    Fault("cmd", "wants the state", "wants .*state", "hello"),
    Fault("cmd", "wants many tables", "at_once 1000000000", "hello"),
    Fault("cmd", "has a name that steers", r"name a\\x1b", "hello"),
    Fault("cmd", "crashes", "exit status 1 after saying: no more"),
    Fault("cmd", "aborts", "signal 6"),
    Fault("cmd", "is silent", SILENT),
    Fault("cmd", "stops itself", SILENT),
    Fault("cmd", "closes its pipes", "closed its standard output"),
    Fault("cmd", "closes its output", "closed its standard output"),
    Fault("cmd", "writes 100 MB", "more than 1,048,576 bytes"),
    Fault("cmd", "never stops", "not open"),
    Fault("cmd", "writes blank lines", SILENT),
    Fault("cmd", "drips", SILENT),
    Fault("cmd", "cuts its answer", "ended with exit status 0"),
    Fault("cmd", "stops halfway", SILENT),
    Fault("cmd", "is no JSON", "no JSON"),
    Fault("cmd", "nests", "no JSON"),
    Fault("cmd", "nests its action", "."),
    Fault("cmd", "lists", "no JSON object"),
    Fault("cmd", "answers twice a line", "no JSON"),
    Fault("cmd", "answers nothing", "takes .action."),
    Fault("cmd", "answers true", "takes .action."),
    Fault("cmd", "answers NaN", "takes .action."),
    Fault("cmd", "answers many digits", "no JSON"),
    Fault("cmd", "answers another", "not open"),
    Fault("cmd", "is illegal", "second answer is not legal"),
    Fault("cmd", "is wordy", "second answer is not legal"),
    Fault("cmd", "answers half a sign", "second answer is not legal"),
    Fault("cmd", "steers the terminal", "second answer is not legal"),
    Fault("cmd", "writes UTF-16", "no JSON"),
    Fault("cmd", "writes no UTF-8", "no JSON"),
    Fault("cmd", "writes zeros", "no JSON"),
    Fault("cmd", "shouts", "exit status 1"),
    Fault("cmd", "leaves a daemon and ends", f"exit status 0|{SILENT}"),
    Fault("cmd", "leaves a daemon and is silent", SILENT),
    Fault("cmd", "leaves a daemon", when="harmless"),
    Fault("cmd", "ignores its end", when="harmless"),
    Fault("cmd", "ends lines as Windows does", when="harmless"),
    Fault("cmd", "mends itself", when="harmless"),
    Fault("llm", "refuses the key", "401"),
    Fault("llm", "knows no such address", "404"),
    Fault("llm", "is overloaded", f"503|{SILENT}"),
    Fault("llm", "points elsewhere", "answers 302 and points to http://localhost:.*; redirects are not followed"),
    Fault("llm", "points to itself", "answers 307 .* redirects are not followed"),
    Fault("llm", "points to a file", "."),
    Fault("llm", "hangs up", NONE),
    Fault("llm", "hangs up in the head", NONE),
    Fault("llm", "hangs up in the body", "IncompleteRead"),
    Fault("llm", "hangs up in a chunk", "IncompleteRead"),
    Fault("llm", "has a wrong chunk", "IncompleteRead"),
    Fault("llm", "is silent", SILENT),
    Fault("llm", "is silent in the body", SILENT),
    Fault("llm", "drips its head", LATE),
    Fault("llm", "drips its body", LATE),
    Fault("llm", "drips a chunk's size", LATE),
    Fault("llm", "has a head without end", f"{SILENT}|got more than"),
    Fault("llm", "has a line without end", f"{SILENT}|got more than"),
    Fault("llm", "has a body without end", f"{SILENT}|more than 4,194,304 bytes"),
    Fault("llm", "always says continue", LATE),
    Fault("llm", "speaks no HTTP", "does not answer as a server"),
    Fault("llm", "answers nothing", "no chat completion"),
    Fault("llm", "nests", "no chat completion"),
    Fault("llm", "sends a list", "no chat completion"),
    Fault("llm", "has no choices", "no chat completion"),
    Fault("llm", "says a number", "no text, but of type int"),
    Fault("llm", "writes no UTF-8", "no chat completion"),
    Fault("llm", "compresses", "no chat completion"),
    Fault("llm", "streams", "no chat completion"),
    Fault("llm", "says half a sign", "second answer is not legal", "play only"),
    Fault("llm", "steers the terminal", "second answer is not legal", "play only"),
    Fault("llm", "says too much", "second answer is not legal either: 'an answer of 500,000 characters", "play only"),
    Fault("llm", "sends blanks first", when="harmless"),
    Fault("llm", "marks its byte order", when="harmless"),
)
