"""The tests, in rooms like those of the package; `common` holds what several of them use."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The checkout."""
