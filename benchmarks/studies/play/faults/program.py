"""A program that plays by the protocol until it is asked for its decision number N, and then does something wrong:

program.py WHAT N [AT_ONCE [FILE]]

What it reads is written to FILE. It is a program of its own and imports nothing of ours.
"""

import json
import os
import signal
import sys
import time
from typing import Any

what, until, at_once = sys.argv[1], int(sys.argv[2]), int((*sys.argv, "1")[3] if len(sys.argv) > 3 else 1)
kept = open(sys.argv[4], "a") if len(sys.argv) > 4 else None  # noqa: SIM115
LONG = 60


def say(text: object) -> None:
    line = text if isinstance(text, bytes) else (text if isinstance(text, str) else json.dumps(text)).encode()
    sys.stdout.buffer.write(line + (b"\r\n" if what == "ends lines as Windows does" else b"\n"))
    sys.stdout.flush()


def leave_a_daemon() -> None:
    """A process that holds our pipes, and belongs to no group of ours."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(LONG / 4)
        os._exit(0)


def greet() -> None:
    hello: dict[str, object] = {"type": "hello", "protocol": 1, "at_once": at_once}
    if what == "ends at the hello":
        sys.exit("not today")
    elif what == "is silent at the hello":
        time.sleep(LONG)
    elif what == "greets without end":
        while True:
            sys.stdout.write("x" * 65536)
    elif what == "greets in UTF-16":
        say(json.dumps(hello).encode("utf-16"))
    elif what == "greets with a list":
        say([hello])
    else:
        changed: dict[str, dict[str, object]] = {
            "is of another version": {"protocol": 2},
            "wants the state": {"wants": ["state"]},
            "wants many tables": {"at_once": 10**9},
            "has a name that steers": {"name": "a\x1b[2Jb"},
        }
        say(hello | changed.get(what, {}))


def do_wrong(request: dict[str, Any]) -> None:
    """Whatever WHAT names."""
    first = request["legal"][0]
    answer = {"id": request["id"], "action": first["action"]}
    if what == "crashes":
        sys.exit("no more")
    elif what == "aborts":
        os.abort()
    elif what == "is silent":
        time.sleep(LONG)
    elif what == "stops itself":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif what in ("closes its pipes", "closes its output"):
        for pipe in (0, 1) if what == "closes its pipes" else (1,):
            os.close(pipe)
        time.sleep(LONG)
    elif what == "writes 100 MB":
        sys.stdout.write("x" * 100_000_000)
        sys.stdout.flush()
    elif what == "shouts":
        sys.exit("y" * 3_000_000)
    elif what == "cuts its answer":
        sys.stdout.write('{"id": 1, "act')
        sys.exit(0)
    elif what == "stops halfway":
        sys.stdout.write('{"id": 1, "act')
        sys.stdout.flush()
        time.sleep(LONG)
    elif what.startswith("leaves a daemon"):
        leave_a_daemon()
        if what.endswith("ends"):
            sys.exit(0)
        elif what.endswith("silent"):
            time.sleep(LONG)
    while what == "never stops":
        say(answer)
    while what == "writes blank lines":
        say("")
        time.sleep(0.001)
    while what == "drips":
        sys.stdout.write(" ")
        sys.stdout.flush()
        time.sleep(0.01)
    given: dict[str, object] = {
        "is no JSON": "hello?",
        "nests": "[" * 100_000,
        "nests its action": '{"id": 1, "action": ' + "[" * 900 + "]" * 900 + "}",
        "lists": "[1, 2]",
        "answers twice a line": json.dumps(answer) * 2,
        "answers nothing": {"id": request["id"]},
        "writes UTF-16": json.dumps(answer).encode("utf-16"),
        "writes no UTF-8": b'\xff\xfe{"id": 1}',
        "writes zeros": bytes(100),
    }
    actions: dict[str, object] = {
        "answers true": True,
        "answers NaN": float("nan"),
        "answers another": 0,
        "is illegal": 10**30,
        "is wordy": "I could play anything",
        "answers half a sign": "\ud800",
        "steers the terminal": "\x1b[2J\x07 fold",
        "mends itself": first["name"] if "error" in request else -1,
    }
    if what == "answers many digits":
        say(f'{{"id": {request["id"]}, "action": 1{"0" * 5000}}}')
    else:
        number = -5 if what == "answers another" else request["id"]
        say(given.get(what, {"id": number, "action": actions.get(what, first["action"])}))


def main() -> None:
    asked = 0
    if what == "ignores its end":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for line in sys.stdin:
        if kept:
            kept.write(line)
            kept.flush()
        message = json.loads(line)
        if message["type"] == "hello":
            greet()
        elif message["type"] == "act":
            asked += 1
            if asked >= until:
                do_wrong(message)
            else:
                say({"id": message["id"], "action": message["legal"][0]["action"]})
    if what == "ignores its end":
        time.sleep(LONG)


main()
