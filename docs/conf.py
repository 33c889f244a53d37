"""Settings of the documentation. What is generated beside the prose comes from ``_ext``."""

from __future__ import annotations

import sys
from pathlib import Path

import rankmeter

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "rankmeter"
release = version = rankmeter.__version__
html_show_copyright = False
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "rankmeter_docs.mathml",
    "rankmeter_docs.names",
    "rankmeter_docs.signatures",
    "rankmeter_docs.stability",
    "rankmeter_docs.generated",
    "rankmeter_docs.shown",
    "rankmeter_docs.pages",
    "rankmeter_docs.korean",
    "rankmeter_docs.excerpts",
]
# Pages include the tables of speed and size.
exclude_patterns = ["_build", "_ext", "_templates", "speed/*", "size/*", "spark/*"]
templates_path = ["_templates"]
default_role = "name"
nitpicky = True
smartquotes = False  # "--json" is no dash

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say the types, with shapes
autodoc_preserve_defaults = False
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False
maximum_signature_line_length = 88

# The button copies what a reader types: no prompt and no output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

html_theme = "pydata_sphinx_theme"
html_title = "rankmeter"
html_static_path = ["_static"]
html_extra_path = ["llms.txt"]  # of all metrics and options, for language models
html_css_files = ["rankmeter.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"*": []}  # pages on top have nothing beside them; those in folders have each other
html_theme_options = {
    "logo": {
        "text": "rankmeter",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    "footer_start": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "show_toc_level": 2,
}
