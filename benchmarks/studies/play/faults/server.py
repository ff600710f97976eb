"""`FaultyServer`: a server of chat completions on this machine that does something wrong from a request on."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from types import TracebackType

_PAUSE = 0.01
_SECONDS = 30.0
"""How long a server goes on with what has no end."""


class FaultyServer:
    """A server that answers well until it is asked request number `at` (the first is 0), and then does `what`; it is
    served by threads while it is entered. `elsewhere` counts connections to the address that its redirects name."""

    def __init__(self, what: str, at: int) -> None:
        self._what, self._at, self._asked, self.elsewhere = what, at, 0, 0
        self._one, self._over = threading.Lock(), threading.Event()
        self._here, self._there = self._servers = [
            socketserver.ThreadingTCPServer(("127.0.0.1", 0), lambda connected, *_, answer=answer: answer(connected))
            for answer in (self._answer, self._strayed)
        ]

    @property
    def url(self) -> str:
        """Where it is asked."""
        return f"http://127.0.0.1:{self._here.server_address[1]}/v1"

    def __enter__(self) -> FaultyServer:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()  # which waits for those that are being answered

    def _strayed(self, connected: socket.socket) -> None:
        self.elsewhere += 1

    def _answer(self, connected: socket.socket) -> None:
        connected.settimeout(1.0)
        with contextlib.suppress(OSError, ValueError):  # whoever asked may be killed
            asked = json.loads(_body(connected))["messages"]
            with self._one:
                number, self._asked = self._asked, self._asked + 1
            if number < self._at:
                connected.sendall(_page(_completion(_move(asked))))
                return
            for part in self._wrong(asked):
                if self._over.is_set():
                    return
                connected.sendall(part)
                time.sleep(0 if len(part) > 100 else _PAUSE)

    def _wrong(self, asked: list[dict[str, str]]) -> Iterator[bytes]:
        """What is sent instead of an answer, in parts."""
        good, until = _completion(_move(asked)), time.monotonic() + _SECONDS
        there, here = self._there.server_address[1], self._here.server_address[1]
        found = {
            "refuses the key": _page(b"{}", "401 Unauthorized"),
            "knows no such address": _page(b"{}", "404 Not Found"),
            "is overloaded": _page(b"{}", "503 Service Unavailable"),
            "points elsewhere": _page(b"", "302 Found", f"Location: http://localhost:{there}/v1/chat/completions"),
            "points to itself": _page(b"", "307 Temporary Redirect", f"Location: http://127.0.0.1:{here}/v1"),
            "points to a file": _page(b"", "302 Found", "Location: file:///etc/hostname"),
            "hangs up": b"",
            "hangs up in the head": b"HTTP/1.1 200 O",
            "hangs up in the body": _page(good)[:-10],
            "hangs up in a chunk": _chunked(b"40\r\n" + good[:10]),
            "has a wrong chunk": _chunked(b"forty\r\n" + good),
            "speaks no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n" + bytes(range(256)),
            "answers nothing": b"HTTP/1.1 204 No Content\r\n\r\n",
            "nests": _page(b"[" * 200_000),
            "sends a list": _page(b"[1, 2, 3]"),
            "has no choices": _page(b'{"choices": []}'),
            "says a number": _page(_completion(7)),
            "writes no UTF-8": _page(b'{"choices": "\xff\xfe\xfa"}'),
            "compresses": _page(gzip.compress(good), "200 OK", "Content-Encoding: gzip"),
            "streams": _page(b'data: {"choices": [{"delta": {"content": "hi"}}]}\n\ndata: [DONE]\n\n'),
            "says half a sign": _page(_completion("\ud800")),
            "steers the terminal": _page(_completion("\x1b[2J\x07 fold")),
            "says too much": _page(_completion("word " * 100_000)),
            "sends blanks first": _page(b"\n" * 200 + good),
            "marks its byte order": _page(b"\xef\xbb\xbf" + good),
        }.get(self._what)
        if found is not None:
            yield found
            return
        start, again = {
            "is silent": (b"", b""),
            "is silent in the body": (_page(good)[: -len(good)], b""),
            "drips its head": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x"),
            "drips its body": (_page(good, length=10**6)[: 10 - len(good)], b" "),
            "drips a chunk's size": (_chunked(b""), b"0"),
            "has a head without end": (b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 10),
            "has a line without end": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 4096),
            "has a body without end": (_chunked(b""), b"10000\r\n" + b"x" * 65536 + b"\r\n"),
            "always says continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        }[self._what]
        yield start
        while time.monotonic() < until:
            yield again


def _body(connected: socket.socket) -> bytes:
    """The body of a request."""
    with connected.makefile("rb") as lines:
        length = 0
        while (line := lines.readline()).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return lines.read(length)


def _move(asked: list[dict[str, str]]) -> str:
    """What is asked for first, `ready`, and then the first legal action."""
    _, legal, names = asked[1]["content"].partition("Legal actions: ") if len(asked) > 1 else ("", "", "")
    return json.dumps({"action": names.rstrip(".").split(", ")[0]}) if legal else "ready"


def _completion(content: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content}}]}).encode()


def _page(body: bytes, status: str = "200 OK", *head: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *head]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _chunked(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
