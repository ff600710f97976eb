"""A person's session at a server of tables, in this process or another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from backalley.web.app import application
from backalley.web.table_server import TableServer


class Person:
    """A session of a client."""

    def __init__(self, client: TestClient) -> None:
        self._client = client
        self.token = client.post("/api/session", json={}).json()["token"]
        self.headers = {"authorization": f"Bearer {self.token}"}

    def get(self, path: str, **query: Any) -> Any:
        return self._client.get(path, params=query, headers=self.headers)

    def post(self, path: str, **entries: Any) -> Any:
        return self._client.post(path, json=entries, headers=self.headers)

    def deal(self, game: str, *seats: str, **options: Any) -> str:
        made = self.post("/api/tables", game=game, options=options, seats=list(seats))
        assert made.status_code == 200, made.text
        return f"/api/tables/{made.json()['id']}"

    def until_mine(self, table: str) -> Any:
        """The table when it is this person's turn, or when it is over."""
        found = self.get(table).json()
        while not found["over"] and found["now"] != found["mine"]:
            before, found = found, self.get(table, after=found["version"]).json()
            assert found["version"] != before["version"], f"nothing happens: {before['turn']}"
        return found

    def act(self, table: str, place: int = 0) -> Any:
        found = self.until_mine(table)
        return self.post(f"{table}/act", action=found["actions"][place][0], at=found["last"])


def serving(folder: Path) -> TestClient:
    table_server = TableServer(folder, pace=0.0, adviser="search:8")
    return TestClient(application(table_server, ["table.example"]), base_url="http://127.0.0.1:8017")
