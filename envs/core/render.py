"""Shows any game's table as one seat sees it: in text, or as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import scene
from .engine import Engine
from .options import OptionError, unexpected_keyword

RENDER_MODES = ("ansi", "human", "rgb_array")
FRAME = 960, 720
"""Width and height of "rgb_array": videos want all frames alike, however much lies on the table."""


def check_render_mode(given: Any) -> None:
    """Raise OptionError, in the words others look for, for a mode that nothing is drawn in."""
    if given is not None and not (isinstance(given, str) and given in RENDER_MODES):
        raise OptionError(
            f"{unexpected_keyword('render_mode')}: it is {given!r}, and takes "
            f"{', '.join(map(repr, RENDER_MODES))} or None."
        )


def table_text(engine: Engine, row: int, seat: int | None) -> str:
    """The table of `row` as `seat` (by default the seat to act) may see it: a head line, what lies where, the legal
    actions."""
    return scene.text(scene.scene(engine, row, seat))


def table_svg(engine: Engine, row: int, seat: int | None, **look: Any) -> str:
    """That as a picture; `look` is what `pictures.drawing.svg` takes."""
    from .pictures.drawing import svg  # letters are read when the first picture is drawn

    return svg(scene.scene(engine, row, seat), **look)


def rendered(engine: Engine, row: int, seat: int | None, mode: str) -> str | npt.NDArray[np.uint8] | None:
    """The table in a mode of RENDER_MODES: text for "ansi", printed for "human", pixels [720, 960, 3] for "rgb_array".
    Raises ModuleNotFoundError in a sentence where pixels are wanted and the extra is not installed."""
    if mode == "rgb_array":
        from .pictures.pixels import pixels

        return pixels(table_svg(engine, row, seat, frame=FRAME))
    text = table_text(engine, row, seat)
    if mode == "ansi":
        return text
    print(text)
    return None
