"""Damaged files, as in `fuzz.readers`, whose rows are compared instead of values of metrics.

Reading is a small part of the work of an evaluation; every id and number is compared. What needs
both sides, such as ids that do not match, is left to the fuzzers of `fuzz.readers`.
"""

from __future__ import annotations

from collections.abc import Callable

from fuzz import judge, readers
from fuzz.harness import Failure
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter._reading.table import Table


class Rows(readers.Files):
    """The fuzzer of the rows in files of one form."""

    def check(self, case: readers.Case, stage: Callable[[int], None]) -> str:
        """Read the file, and compare each row with the judge's."""
        self.path.write_bytes(case.content)
        reader = read_rankings if case.side == "rankings" else read_truth
        found, why = readers.attempted(reader, str(self.path))
        stage(2)
        try:
            wanted, refusal = judge.read(case.content, case.form, case.side), ""
        except judge.Refused as error:
            wanted, refusal = None, str(error)
        if found is None:
            return readers.refused(case, why, wanted)
        try:
            read = rows(found, case.side)
        except judge.Refused as error:  # an item twice, which needs all rows of the user
            return readers.refused(case, str(error), wanted)
        if wanted is None:
            return readers.lenient(refusal, read)
        if read.keys() != wanted.keys():
            raise Failure("other users", f"{sorted(read)}, by the judge {sorted(wanted)}")
        for user, items in wanted.items():
            same = [*read[user]] == [*items] if found.order == "list" else read[user] == items
            if not same:
                raise Failure("other rows", f"{read[user]} of {user!r}, by the judge {items}")
        return "accepted, with the rows of the judge"


def fuzzer(form: str) -> Rows:
    """The fuzzer of a form."""
    return Rows(form)


def rows(table: Table, side: str) -> dict[str, dict[str, float]]:
    """A table as the judge writes it."""
    users, items = ([str(one) for one in table.frame[role]] for role in ("user", "item"))
    if side == "truth":
        numbers = table.frame["gain"].to_list()
    elif table.order == "list":
        numbers = list(range(0, -len(users), -1))
    else:
        sign = -1 if table.order == "rank" else 1
        numbers = [sign * one for one in table.frame[table.order]]
    empty = [str(one) for one in table.empty_users]
    found = zip(users, items, numbers, strict=True)
    return judge.with_empty(list(found), [*dict.fromkeys([*users, *empty])], side)
