"""The documentation site: the repository's own pages, and what the docstrings say.

    sphinx-build -W -c docs . build/docs      # then open build/docs/index.html

Sources are read where they lie, from the repository's root; nothing is copied.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from pathlib import Path
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"  # kernels are then functions, which autodoc knows

project = "Back Alley"
author = "The Back Alley developers"
version = release = importlib.metadata.version("backalley")

root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "README.md",
    "LEADERBOARD.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "agents/README.md",
    "benchmarks/README.md",
    "training/README.md",
    "envs/*/README.md",
    "envs/*/policy/*/README.md",
    "SECURITY.md",
    "notebooks/*.ipynb",
]
exclude_patterns = ["build/**", ".venv/**", "src/**", "docs/paper/**"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_design"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
nb_execution_mode = "off"  # what they give is kept in them, and the tests hold it fresh
nb_render_image_options = {"width": "100%"}
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "dollarmath"]
suppress_warnings = [
    "myst.header",  # pages begin where their file does
]
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True

html_theme = "pydata_sphinx_theme"
html_title = "Back Alley"
html_show_sourcelink = False
html_static_path: list[str] = []
html_extra_path = ["index.html"]  # pages lie where their sources do; this one leads from the site's root to the first
TABLES = Path(__file__).parents[1] / "build/tables"
"""Where `backalley site build/tables/tables` has written tables, if it has: the pages of games lead there."""
html_extra_path += [str(TABLES)] * TABLES.is_dir()
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "footer_start": ["copyright"],
    "footer_end": [],
}


def add_table(app: Any, page: str, source: list[str]) -> None:
    """Lead from a game's page to its table."""
    game = re.fullmatch(r"envs/(\w+)/README", page)
    if game and TABLES.is_dir():
        title, about, rest = source[0].split("\n\n", 2)
        link = f'<p><a href="../../tables/index.html#new={game[1]}">Play it in your browser</a></p>'
        source[0] = "\n\n".join([title, about, link, rest])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_table)
