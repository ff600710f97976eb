"""Pictures as pixels, by resvg: the extra `pictures`."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt

from backalley.console.errors import NotInstalled

EXTRA = (
    "Pixels need resvg-py and Pillow, of which {missing} is not installed: pip install 'backalley[pictures]'. Pictures "
    "as SVG need neither."
)


def png(svg: str, zoom: float = 1.0) -> bytes:
    """Return a picture as PNG, `zoom` times as large, without the machine's fonts. Raises ModuleNotFoundError without
    the extra."""
    try:
        import resvg_py
    except ModuleNotFoundError as error:
        raise NotInstalled(EXTRA.format(missing="resvg-py")) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, skip_system_fonts=True))


def pixels(svg: str) -> npt.NDArray[np.uint8]:
    """Return a picture as red, green and blue [H, W, 3]. Raises ModuleNotFoundError without the extra."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise NotInstalled(EXTRA.format(missing="Pillow")) from error
    return np.asarray(Image.open(io.BytesIO(png(svg))).convert("RGB"))
