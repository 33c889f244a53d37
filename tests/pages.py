"""The page of a result as text."""

from pathlib import Path
from tempfile import TemporaryDirectory


def page_of(result, **options):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        result.report(path, **options)
        return path.read_text("utf-8")
