"""A program that plays by the protocol until it is asked for its decision number N, and then does something wrong:

faulty_program.py WHAT N [AT_ONCE [FILE]]

What it reads is written to FILE.
"""

import json
import os
import sys
import time

what, until, at_once = sys.argv[1], int(sys.argv[2]), int((*sys.argv, "1")[3] if len(sys.argv) > 3 else 1)
kept = open(sys.argv[4], "a") if len(sys.argv) > 4 else None  # noqa: SIM115


def say(text):
    print(text if isinstance(text, str) else json.dumps(text), flush=True)


def do_wrong(request):
    """Whatever WHAT names."""
    if what == "crashes":
        sys.exit("no more")
    elif what == "is silent":
        time.sleep(600)
    elif what == "closes its pipes":
        os.close(0)
        os.close(1)
        time.sleep(600)
    elif what == "writes 100 MB":
        sys.stdout.write("x" * 100_000_000)
        sys.stdout.flush()
    while what == "never stops":
        say({"id": request["id"], "action": request["legal"][0]["action"]})
    say(
        {
            "is no JSON": "hello?",
            "nests": "[" * 100_000,
            "lists": "[1, 2]",
            "answers nothing": {"id": request["id"]},
            "answers true": {"id": request["id"], "action": True},
            "answers another": {"id": -5, "action": 0},
            "is illegal": {"id": request["id"], "action": 10**30},
            "is wordy": {"id": request["id"], "action": "I could play anything"},
            "mends itself": {"id": request["id"], "action": request["legal"][0]["name"] if "error" in request else -1},
        }.get(what, {"id": request["id"], "action": request["legal"][0]["action"]})
    )


def main():
    asked = 0
    for line in sys.stdin:
        if kept:
            kept.write(line)
            kept.flush()
        message = json.loads(line)
        if message["type"] == "hello":
            say({"type": "hello", "protocol": 2 if what == "is of another version" else 1, "at_once": at_once})
        elif message["type"] == "act":
            asked += 1
            if asked >= until:
                do_wrong(message)
            else:
                say({"id": message["id"], "action": message["legal"][0]["action"]})


main()
