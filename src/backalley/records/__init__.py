"""Self-play as data: a row for each decision, as JSON lines or Parquet, and a reader that replays every game.

Uses agents and the core. `docs/guides/data.md` has the columns.
"""

from .reading import read_record
from .writing import record_games

__all__ = ["read_record", "record_games"]
