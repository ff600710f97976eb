"""`backalley dev`: what the project's developers run. `commands.py` declares all but what learns, which is in
`training.py`; users' commands are beside this folder."""

from .commands import dev

__all__ = ["dev"]
