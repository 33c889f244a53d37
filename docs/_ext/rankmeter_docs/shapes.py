"""What dictionaries and lists mean, from the table by which they are read."""

from __future__ import annotations

from collections.abc import Iterable

from rankmeter._reading.shapes import LISTINGS, MAPPINGS, Shape
from rankmeter_docs.rst import code

KOREAN = {
    "a table that `to_dict('split')` of pandas has written": (
        "pandas의 ``to_dict('split')`` 이 쓴 표"
    ),
    "one row, or one record of rankings and ground truth": "행 하나, 또는 순위와 정답의 기록 하나",
    "columns": "열",
    "rows by any key, such as `to_dict('index')` of pandas": (
        "아무 키나 붙은 행, 예를 들어 pandas의 ``to_dict('index')``"
    ),
    "the items of one user, each with its number": "사용자 한 명의 아이템과 각각의 수",
    "users with their items: in order, as a set, or with numbers": (
        "사용자별 아이템: 순서대로, 집합으로, 또는 수와 함께"
    ),
    "the hits of one query, or pairs of an item and a score": (
        "질의 하나의 검색 결과, 또는 아이템과 점수의 쌍"
    ),
    "rows: objects with the same keys, named tuples, data classes": (
        "행: 키가 같은 객체, 이름 있는 튜플, 데이터 클래스"
    ),
    "the items of one user, in order": "사용자 한 명의 아이템, 순서대로",
    "a list for each user, by position: of items, or items with numbers": (
        "위치로 구분한 사용자별 리스트: 아이템, 또는 아이템과 수"
    ),
}
"""The names of the shapes in Korean."""


def english() -> str:
    """All shapes in the order in which they are tried."""
    return _numbered(korean=False)


def korean() -> str:
    """All shapes in the order in which they are tried, in Korean."""
    return _numbered(korean=True)


def named(
    shapes: Iterable[Shape] = (*MAPPINGS, *LISTINGS), *, korean: bool
) -> list[tuple[str, str]]:
    """What shapes are, and how each looks."""
    return [
        (KOREAN[one.name] if korean else one.name.replace("`", "``"), one.example) for one in shapes
    ]


def _numbered(*, korean: bool) -> str:
    """A numbered list for dictionaries and one for lists; long examples wrap in it."""
    lists = [
        "\n".join(
            f"{number}. {name}: {code(example)}"
            for number, (name, example) in enumerate(named(shapes, korean=korean), start=1)
        )
        for shapes in (MAPPINGS, LISTINGS)
    ]
    return "\n\n..\n\n".join(lists)
