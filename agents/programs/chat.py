"""Asks a language model behind a server of chat completions (the form of OpenAI's, which most local servers speak):

    chat.py http://localhost:8000/v1 MODEL

A program for Back Alley by the protocol of `docs/guides/programs.md`, with nothing but Python's standard library; copy
it for a server that wants something else. The model's whole answer is handed on, and read on the other side: the last
JSON object in it counts. A key for the server is taken from the environment, OPENAI_API_KEY; it is sent by https, or to
this machine, and never to where a server would send on.
"""

import concurrent.futures
import http.client
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

Message = dict[str, Any]

AT_ONCE = 8
"""Requests that the server gets at the same time."""
ASKS = (
    "You play a card game. Its rules:\n\n{rules}\n\nYou are told what you may know, and choose one legal action. "
    'Think if you like, then end your answer with one JSON object, {{"action": "the name of the action"}}.'
)
LONGEST = 1 << 22
"""The bytes of an answer that are read."""
TRIES = 3
"""How often a server that has answered before is asked when it is overloaded or out of reach."""

speaking = threading.Lock()


def say(message: Message) -> None:
    """Write one line."""
    with speaking:
        print(json.dumps(message), flush=True)


def prompt(request: Message) -> str:
    """What the model is asked."""
    names = ", ".join(one["name"] for one in request["legal"])
    return f"{request['text']}\n\nLegal actions: {names}."


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: another server would get the key."""

    def redirect_request(self, request: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        """Say where it would go."""
        raise urllib.error.HTTPError(request.full_url, code, f"it sends on to {newurl}; name that address", headers, fp)


def complete(url: str, model: str, messages: list[Message], tries: int) -> str:
    """Return the model's answer to a conversation. Raises OSError where the server cannot be reached, ValueError,
    LookupError, TypeError, RecursionError or HTTPException for what is no answer."""
    body = json.dumps({"model": model, "messages": messages}).encode()
    parts = urllib.parse.urlsplit(url)
    here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    key = os.environ.get("OPENAI_API_KEY") if here or parts.scheme == "https" else None
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    opener = urllib.request.build_opener(NoRedirects, *([urllib.request.ProxyHandler({})] if here else []))
    for number in range(1, tries + 1):
        try:
            with opener.open(urllib.request.Request(f"{url}/chat/completions", body, headers)) as answer:
                data = answer.read(LONGEST + 1)
                if len(data) > LONGEST:
                    raise ValueError(f"its answer has more than {LONGEST:,} bytes")
                return str(json.loads(data)["choices"][0]["message"]["content"] or "")
        except OSError as error:
            refused = isinstance(error, urllib.error.HTTPError) and error.code not in (429, 500, 502, 503, 504)
            if number == tries or refused:
                raise
            time.sleep(2**number)
    return ""


class Player:
    """A model, and what it last said at each table, for the case that it is asked again."""

    def __init__(self, url: str, model: str) -> None:
        self.url, self.model, self.rules, self.tries = url.rstrip("/"), model, "", 1
        self.said: dict[str, str] = {}

    def act(self, request: Message) -> None:
        """Answer one request."""
        messages = [{"role": "system", "content": ASKS.format(rules=self.rules)}]
        messages.append({"role": "user", "content": prompt(request)})
        if "error" in request:
            again = f"{request['error']} Answer with one legal action, as a JSON object."
            messages.append({"role": "assistant", "content": self.said.get(request["table"], "")})
            messages.append({"role": "user", "content": again})
        self.said[request["table"]] = answer = self.ask(messages)
        say({"id": request["id"], "action": answer})

    def ask(self, messages: list[Message]) -> str:
        """Return the model's answer; end the program where the server gives none."""
        try:
            answer = complete(self.url, self.model, messages, self.tries)
        except (OSError, ValueError, LookupError, TypeError, RecursionError, http.client.HTTPException) as error:
            said = f"{self.url} does not answer as a server of chat completions: {error or type(error).__name__}"
            print(said[:500], file=sys.stderr, flush=True)
            os._exit(1)
        self.tries = TRIES
        return answer


def main() -> None:
    """Play until the input ends."""
    player = Player(*sys.argv[1:])
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "hello":
                player.rules = message["rules"]
                player.ask([{"role": "user", "content": "Answer with the word yes."}])  # a wrong address shows now
                say({"type": "hello", "protocol": 1, "name": player.model, "wants": ["text"], "at_once": AT_ONCE})
            elif message["type"] == "act":
                threads.submit(player.act, message)
            elif message["type"] == "end":
                player.said.pop(message["table"], None)


if __name__ == "__main__":
    main()
