"""How the documentation is built: ``sphinx-build -W --keep-going docs docs/_build``."""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

from treemeans import __version__

sys.path.insert(0, str(Path(__file__).parent))  # for write_commands

project = "treemeans"
author = "The treemeans developers"
copyright = author  # noqa: A001
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]
default_role = "py:obj"
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types, in words
autodoc_preserve_defaults = True
numpydoc_show_class_members = False  # the pages of the reference list them

html_theme = "furo"
html_title = f"treemeans {version}"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2b5f8a", "color-brand-content": "#2b5f8a"},
    "dark_css_variables": {"color-brand-primary": "#8ab8de", "color-brand-content": "#8ab8de"},
}


def without_last_blank_line(app: Sphinx, page: str, source: list[str]) -> None:
    """Examples that run as tests end in a blank line, which a reader need not see."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def write_commands(app: Sphinx) -> None:
    """Make the page of the commands from the commands."""
    from write_commands import main

    main()


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", write_commands)
    app.connect("source-read", without_last_blank_line)
