"""Pictures as pixels, by resvg: the extra `pictures`; and several, one after the other: as a GIF, and as HTML with a
slider, which needs nothing else."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue, NotInstalled, printable

if TYPE_CHECKING:
    from PIL.Image import Image

EXTRA = (
    "Pixels need resvg-py and Pillow, of which {missing} is not installed: pip install 'backalley[pictures]'. Pictures "
    "as SVG need neither."
)
COLOURS, SAMPLED = 128, 8
"""Colours of a GIF, chosen from so many of its pictures."""
_DEFINED = re.compile(r"<defs>(.*?)</defs>", re.DOTALL)
_ONE = re.compile(r'<path id="([^"]+)"[^>]*/>|<g id="([^"]+)">.*?</g>')
_MOVE = (
    "const r=this.closest('[data-replay]'),f=r.querySelectorAll('[data-frame]');"
    "f.forEach((e,i)=>e.hidden=i!=this.value);r.querySelector('output').textContent=f[this.value].dataset.frame"
)

_KEYS = (
    "const r=this.querySelector('input'),by={ArrowLeft:-1,ArrowRight:1,Home:-r.max,End:+r.max}[event.key];"
    "if(by&&event.target!=r){r.value=+r.value+by;r.oninput();event.preventDefault()}"
)
"""Keys move the slider of a page wherever the focus is."""


def png(svg: str, zoom: float = 1.0) -> bytes:
    """Return a picture as PNG, `zoom` times as large, without the machine's fonts. Raises ModuleNotFoundError without
    the extra."""
    try:
        import resvg_py
    except ModuleNotFoundError as error:
        raise NotInstalled(EXTRA.format(missing="resvg-py")) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, skip_system_fonts=True))


def _image(svg: str, zoom: float = 1.0) -> Image:
    """A picture as Pillow has it. Raises ModuleNotFoundError without the extra."""
    try:
        import PIL.Image
    except ModuleNotFoundError as error:
        raise NotInstalled(EXTRA.format(missing="Pillow")) from error
    return PIL.Image.open(io.BytesIO(png(svg, zoom))).convert("RGB")


def pixels(svg: str) -> npt.NDArray[np.uint8]:
    """Return a picture as red, green and blue [H, W, 3]. Raises ModuleNotFoundError without the extra."""
    return np.asarray(_image(svg))


def pdf(svg: str) -> bytes:
    """Return a picture as a page of PDF of its own size, 96 pixels an inch, with four times as many. Raises
    ModuleNotFoundError without the extra."""
    page = io.BytesIO()
    _image(svg, 4).save(page, "PDF", resolution=4 * 96)
    return page.getvalue()


def gif(pictures: Sequence[str], seconds: float = 1.0, zoom: float = 1.0) -> bytes:
    """Return SVG pictures of one width as a GIF that shows each for so long, and the last four times as long. Raises
    ModuleNotFoundError without the extra, ValueError for no pictures."""
    if not pictures:
        raise InvalidValue("An animation has at least one picture; none was given.")
    shown = [_image(one, zoom) for one in pictures]
    from PIL import Image as Pictures

    high = max(one.height for one in shown)
    frames = [Pictures.new("RGB", (one.width, high), one.getpixel((0, 0))) for one in shown]
    for frame, one in zip(frames, shown, strict=True):
        frame.paste(one, (0, 0))
    sampled = frames[:: max(1, len(frames) // SAMPLED)]
    sheet = Pictures.new("RGB", (frames[0].width, high * len(sampled)))
    for number, one in enumerate(sampled):
        sheet.paste(one, (0, number * high))
    palette = sheet.quantize(COLOURS)
    first, *others = [one.quantize(palette=palette, dither=Pictures.Dither.NONE) for one in frames]
    lasts = [round(1000 * seconds)] * len(others) + [round(4000 * seconds)]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=lasts, loop=0, optimize=True)
    return file.getvalue()


def slider(pictures: Sequence[str], words: Sequence[str]) -> str:
    """Return HTML that shows one of several SVG pictures, with its words, by a slider that can be dragged or moved by
    the arrow keys. What pictures have in common is written once. Raises ValueError for no pictures."""
    if not pictures:
        raise InvalidValue("A replay has at least one picture; none was given.")
    found = (one for picture in pictures for one in _ONE.finditer("".join(_DEFINED.findall(picture))))
    defined = {one[1] or one[2]: one[0] for one in found}
    frames = "\n".join(
        f'<div data-frame="{escape(printable(said))}"{" hidden" * (number > 0)}>{_DEFINED.sub("", one)}</div>'
        for number, (one, said) in enumerate(zip(pictures, words, strict=True))
    )
    return (
        '<div data-replay style="max-width:960px;font-family:sans-serif">\n'
        "<style>[data-replay] svg{max-width:100%;height:auto}[data-replay] [hidden]{display:none}</style>\n"
        f'<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>{"".join(defined.values())}'
        f'</defs></svg>\n<input type="range" min="0" max="{len(pictures) - 1}" value="0" style="width:100%" '
        f'aria-label="Position in the game" oninput="{escape(_MOVE)}"/>\n'
        f"<output>{escape(printable(words[0]))}</output>\n{frames}\n</div>\n"
    )


def page(pictures: Sequence[str], words: Sequence[str], title: str) -> str:
    """Return that as a page of its own."""
    called = escape(printable(title))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{called}</title></head>\n<body onkeydown="{escape(_KEYS)}">\n<main>'
        f'<h1 style="font:600 1.3rem sans-serif">{called}</h1>\n{slider(pictures, words)}</main></body></html>\n'
    )
