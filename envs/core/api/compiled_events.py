"""Tables with a history in compiled code: what `compiled_play.py` is for those without. It is apart, since most tables
keep no events, and need not load this."""

from __future__ import annotations

from ..engine.engine import logged_kernels
from ..engine.event_log import History, as_shown, visible

__all__ = ["History", "as_shown", "logged_kernels", "visible"]
