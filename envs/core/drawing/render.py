"""Render any game's table as one seat sees it: as text, or as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..rules.options import OptionError, unexpected_keyword
from . import scene

RENDER_MODES = ("ansi", "human", "rgb_array")
FRAME = 960, 720
"""Width and height of "rgb_array": videos need frames of equal size, however much is on the table."""


def check_render_mode(given: Any) -> None:
    """Raise OptionError, with the words that other libraries look for, for an unknown mode."""
    if given is not None and not (isinstance(given, str) and given in RENDER_MODES):
        raise OptionError(
            f"{unexpected_keyword('render_mode')}: it is {given!r}, and takes "
            f"{', '.join(map(repr, RENDER_MODES))} or None."
        )


def table_text(tables: scene.Tables, row: int, seat: int | None) -> str:
    """Return the table of `row` as `seat` (by default the seat to act) may see it: a head line, the cards, the legal
    actions."""
    return scene.text(scene.scene(tables, row, seat))


def table_svg(tables: scene.Tables, row: int, seat: int | None, *, face_up: bool = False, **look: Any) -> str:
    """Return it as a picture, with `face_up` with everybody's cards; `look` is what `pictures.drawing.svg` takes."""
    from .pictures.drawing import svg  # letters are read when the first picture is drawn

    return svg(scene.scene(tables, row, seat, face_up), **look)


def rendered(tables: scene.Tables, row: int, seat: int | None, mode: str) -> str | npt.NDArray[np.uint8] | None:
    """Return the table in a mode of RENDER_MODES: text for "ansi", printed for "human", pixels [720, 960, 3] for
    "rgb_array". Raises ModuleNotFoundError where pixels need the extra that is not installed."""
    if mode == "rgb_array":
        from .pictures.pixels import pixels

        return pixels(table_svg(tables, row, seat, frame=FRAME))
    text = table_text(tables, row, seat)
    if mode == "ansi":
        return text
    print(text)
    return None
