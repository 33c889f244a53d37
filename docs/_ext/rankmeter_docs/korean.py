"""Marks Korean words and pages as Korean, for screen readers, fonts and line breaks."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_TEXT = re.compile(r">([^<]*[가-힣][^<]*)<")
_WORDS = re.compile(r"[가-힣](?:[가-힣A-Za-z0-9 ·,.~-]*[가-힣.])?")


def mark(body: str) -> str:
    """Wrap Korean text in ``<span lang="ko">``, but not inside HTML tags."""
    return _TEXT.sub(lambda text: _WORDS.sub(_span, text[0]), body)


def _span(run: re.Match[str]) -> str:
    return f'<span lang="ko">{run[0]}</span>'


def _mark_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    if page.startswith("ko/"):
        context["language"] = "ko"
    elif "body" in context:
        context["body"] = mark(context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Process every page before it is written."""
    app.connect("html-page-context", _mark_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
