"""Asks a language model behind a server of chat completions (the form of OpenAI's, which most local servers speak):

    chat.py http://localhost:8000/v1 MODEL

A program for Back Alley by the protocol of `docs/guides/programs.md`, with nothing but Python's standard library; copy
it for a server that wants something else. The model's whole answer is handed on, and read on the other side: the last
JSON object in it counts. A key for the server is taken from the environment, OPENAI_API_KEY; it goes over https or to
this machine alone, and to no other address: redirects are not followed.

The server is asked a first question before the program says hello. It may think as long as it likes; once an answer has
begun it has to end within SECONDS and MOST_BYTES. A server that does anything else ends the program, with a sentence.
"""

import concurrent.futures
import http.client
import io
import json
import os
import socket
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
TRIES = 3
"""How often a server is asked that is overloaded; and out of reach, if it has answered before."""
OVERLOADED = (429, 500, 502, 503, 504)
SECONDS = 4.0
"""What a connection may take, and the head and the body of an answer each, from its first byte to its last."""
MOST_BYTES = 1 << 22
"""The greatest body of an answer."""
MOST_LETTERS = 80_000
"""The longest answer of a model that is handed on."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
FIRST = [{"role": "user", "content": "You will be asked to play a card game. Answer with one word: ready."}]

speaking = threading.Lock()


def say(message: Message) -> None:
    """Write one line."""
    with speaking:
        print(json.dumps(message), flush=True)


def prompt(request: Message) -> str:
    """What the model is asked."""
    names = ", ".join(one["name"] for one in request["legal"])
    return f"{request['text']}\n\nLegal actions: {names}."


class Reader(io.RawIOBase):
    """What a server sends; `until` is the time until which it may take, set by the next byte that comes if None."""

    def __init__(self, connected: socket.socket) -> None:
        self.connected, self.raw = connected, connected.makefile("rb", buffering=0)
        self.until: float | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = None if self.until is None else self.until - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError(LATE)
        self.connected.settimeout(left)
        try:
            count = self.raw.readinto(buffer)
        except TimeoutError:
            raise TimeoutError(LATE) from None
        self.until = self.until or time.monotonic() + SECONDS
        return count

    def close(self) -> None:
        self.raw.close()
        super().close()


LATE = f"its answer began and did not end within {SECONDS:g} s"


class Answer(http.client.HTTPResponse):
    """An answer that has to end once it has begun."""

    def __init__(self, sock: socket.socket, *words: Any, **named: Any) -> None:
        super().__init__(sock, *words, **named)
        self.fp.close()
        self.reader = Reader(sock)
        self.fp = io.BufferedReader(self.reader)

    def text(self) -> bytes:
        """Return the body. A server that is not ready may send blanks first."""
        body, begun = bytearray(), False
        self.reader.until = None
        while chunk := self.read1(1 << 16):
            body += chunk
            begun = begun or bool(chunk.strip())
            if len(body) > MOST_BYTES:
                raise ValueError(f"its answer has more than {MOST_BYTES:,} bytes")
            if not begun:
                self.reader.until = None
        if self.length:
            raise http.client.IncompleteRead(bytes(body), self.length)
        return bytes(body)


class Plain(http.client.HTTPConnection):
    response_class = Answer


class Secure(http.client.HTTPSConnection):
    response_class = Answer


class OverPlain(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(Plain, request)


class OverSecure(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(Secure, request)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, request: Any, body: Any, code: int, words: str, headers: Any, url: str) -> None:
        where = urllib.parse.urlsplit(url)
        raise ValueError(
            f"it answers {code} and points to {where.scheme}://{where.netloc}; redirects are not followed, since a key "
            "would go along: name the address itself"
        )


def complete(url: str, model: str, messages: list[Message], reached: bool) -> str:
    """Return the model's answer to a conversation. `reached` says whether the server has answered before. Raises
    OSError, ValueError or HTTPException where the server gives none."""
    body = json.dumps({"model": model, "messages": messages}).encode()
    key = os.environ.get("OPENAI_API_KEY")
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    here = urllib.parse.urlsplit(url).hostname in LOOPBACK
    no_proxy = [urllib.request.ProxyHandler({})] if here else []
    opener = urllib.request.build_opener(NoRedirects, OverPlain, OverSecure, *no_proxy)
    for number in range(TRIES):
        try:
            request = urllib.request.Request(f"{url}/chat/completions", body, headers)
            with opener.open(request, timeout=SECONDS) as answer:
                return content(answer.text())
        except OSError as error:
            code = error.code if isinstance(error, urllib.error.HTTPError) else None
            again = code in OVERLOADED if code else reached and not isinstance(error, TimeoutError)
            if number + 1 == TRIES or not again:
                raise
            time.sleep(2**number)
    return ""


def content(body: bytes) -> str:
    """Return what a model says in a server's answer. Raises ValueError."""
    try:
        said = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ValueError(f"its answer is no chat completion: {body[:80]!r}") from None
    if said is not None and not isinstance(said, str):
        raise ValueError(f"the content of its answer is no text, but of type {type(said).__name__}")
    if said and len(said) > MOST_LETTERS:
        return f"an answer of {len(said):,} characters, of which at most {MOST_LETTERS:,} are read"
    return said or ""


def wrong_key(url: str) -> str:
    """Return what is wrong with sending the key to that address, without the key; nothing where all is well."""
    key, where = os.environ.get("OPENAI_API_KEY", ""), urllib.parse.urlsplit(url)
    if not all("!" <= letter <= "~" for letter in key):
        return "OPENAI_API_KEY holds a character that no key has: a blank, an end of line, or a sign that is not ASCII"
    if key and where.scheme != "https" and where.hostname not in LOOPBACK:
        return (
            f"OPENAI_API_KEY would go to {where.hostname} over http, where others can read it: a key is sent over "
            "https, or to this machine; take an https address, or unset OPENAI_API_KEY"
        )
    return ""


class Player:
    """A model, and what it last said at each table, for the case that it is asked again."""

    def __init__(self, url: str, model: str) -> None:
        self.url, self.model, self.rules, self.reached = url.rstrip("/"), model, "", False
        self.said: dict[str, str] = {}

    def ask(self, messages: list[Message]) -> str:
        """Return the model's answer; end the program with a sentence where the server gives none."""
        try:
            if said := wrong_key(self.url):
                raise ValueError(said)
            answer = complete(self.url, self.model, messages, self.reached)
        except (OSError, ValueError, http.client.HTTPException) as error:
            said = str(error) or type(error).__name__
            print(f"{self.url} does not answer as a server of chat completions: {said}", file=sys.stderr, flush=True)
            os._exit(1)
        self.reached = True
        return answer

    def act(self, request: Message) -> None:
        """Answer one request."""
        messages = [{"role": "system", "content": ASKS.format(rules=self.rules)}]
        messages.append({"role": "user", "content": prompt(request)})
        if "error" in request:
            again = f"{request['error']} Answer with one legal action, as a JSON object."
            messages.append({"role": "assistant", "content": self.said.get(request["table"], "")})
            messages.append({"role": "user", "content": again})
        answer = self.said[request["table"]] = self.ask(messages)
        say({"id": request["id"], "action": answer})


def main() -> None:
    """Play until the input ends."""
    player = Player(*sys.argv[1:])
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "hello":
                player.rules = message["rules"]
                player.ask(FIRST)
                say({"type": "hello", "protocol": 1, "name": player.model, "wants": ["text"], "at_once": AT_ONCE})
            elif message["type"] == "act":
                threads.submit(player.act, message)
            elif message["type"] == "end":
                player.said.pop(message["table"], None)


if __name__ == "__main__":
    main()
