"""The documentation site: the repository's own pages, and what the docstrings say.

    sphinx-build -W -c docs . build/docs      # then open build/docs/index.html

Sources are read where they lie, from the repository's root; nothing is copied.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_design.shared import create_component

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
default_role = "code"  # in docstrings, as in these pages, a word between backticks is code
toc_object_entries_show_parents = "hide"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
_OTHERS = {"torch": ["torch"], "stable_baselines3": ["stable_baselines3"], "numba_cuda": ["numba_cuda", "numba.cuda"]}
autodoc_mock_imports = [
    module for name, modules in _OTHERS.items() if importlib.util.find_spec(name) is None for module in modules
]
"""What other extras bring; these pages are whole without it."""

html_theme = "pydata_sphinx_theme"
html_title = "Back Alley"
html_show_sourcelink = False
html_use_index = html_domain_indices = False  # the search finds what they list, on pages of any length
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["index.html"]  # pages lie where their sources do; this one leads from the site's root to the first
TABLES = Path(__file__).parents[1] / "build/tables"
"""Where `backalley site build/tables/tables` has written tables, if it has: the pages of games lead there."""
html_extra_path += [str(TABLES)] * TABLES.is_dir()
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "footer_start": ["copyright"],
    "footer_end": [],
}

REPOSITORY = os.environ.get("GITHUB_REPOSITORY", "")
"""The owner and the name of the repository on GitHub; its workflows know them, and only the pages that they build have
badges."""


def add_badges(app: Sphinx, page: str, source: list[str]) -> None:
    """Link a notebook to a hosted machine that opens it, where its page says `<!-- opens: NAME -->`."""
    colab = "https://colab.research.google.com"
    badge = rf"[![Open in Colab]({colab}/assets/colab-badge.svg)]({colab}/github/{REPOSITORY}/blob/main/notebooks/\1)"
    source[0] = re.sub(r"<!-- opens: (\S+) -->", badge if REPOSITORY else "", source[0])


LONG, SECTION = 7_000, 1_000
"""Letters of a page that are open from the beginning, and of a section that may be closed."""


def sections(within: nodes.Element) -> Iterator[nodes.section]:
    """The sections right below an element."""
    return (child for child in within.children if isinstance(child, nodes.section))


def fold(page: nodes.Element) -> None:
    """Close what makes a page long: its sections then open when they are clicked, or when a link leads into them."""
    letters = 0
    for section in list(sections(page)):
        letters += len(section.astext())
        if letters > LONG and len(section.astext()) > SECTION:
            letters -= len(section.astext())
            fold(section)
            close(section)


def close(section: nodes.section) -> None:
    """Put a section into a part of sphinx-design's that opens, with the section's title on it."""
    title = section.next_node(nodes.title)
    section.remove(title)
    classes = {"container_classes": ["sd-mb-3"], "title_classes": [], "body_classes": []}
    marks = {"opened": False, "type": "dropdown", "has_title": True, "icon": None, "chevron": None}
    closed = create_component("dropdown", **marks, **classes)
    section.parent.replace(section, closed)
    closed += [nodes.rubric("", "", *title.children), section]


class Folds(SphinxPostTransform):
    """Folds pages once their contents are listed, and before sphinx-design draws what opens."""

    default_priority = 198
    formats = ("html",)

    def run(self, **settings: object) -> None:
        """Fold what is below the page's title."""
        for section in list(sections(self.document)):
            fold(section)


def add_table(app: Sphinx, page: str, source: list[str]) -> None:
    """Lead from a game's page to its table."""
    game = re.fullmatch(r"envs/(\w+)/README", page)
    if game and TABLES.is_dir():
        title, about, rest = source[0].split("\n\n", 2)
        link = f'<p><a href="../../tables/index.html#new={game[1]}">Play it in your browser</a></p>'
        source[0] = "\n\n".join([title, about, link, rest])


def setup(app: Sphinx) -> None:
    """What Sphinx calls."""
    app.add_post_transform(Folds)
    app.connect("source-read", add_badges)
    app.connect("source-read", add_table)
