"""Plays at random: a program for Back Alley, with nothing but Python's standard library."""

import json
import random
import sys


def say(message):
    print(json.dumps(message), flush=True)


def choose(request):
    """Any legal action. Drawn by the request's own random number, so that a match can be repeated."""
    names = [one["name"] for one in request["legal"]]
    return random.Random(request["random"]).choice(names)


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print("playing", message["game"], file=sys.stderr)
        say({"type": "hello", "protocol": 1, "name": "random player", "wants": []})
    elif message["type"] == "act":
        say({"id": message["id"], "action": choose(message)})
