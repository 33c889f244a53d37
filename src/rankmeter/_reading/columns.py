"""Assign columns to roles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import polars as pl

from rankmeter._reading.by_user import ByUser
from rankmeter._reading.cells import describe_lists
from rankmeter._reading.table import POLARS, Kind, OriginShape, format_few
from rankmeter.errors import ColumnError, DataError, UsageError
from rankmeter.errors._checks import RETRIEVAL, USERS, Words, brief, option_error, suggest_words

Side: TypeAlias = Literal[
    "rankings", "truth", "interactions", "segments", "clusters", "users", "items"
]
"""The kind of data that is read."""

OF_USERS = frozenset({"segments", "clusters", "users"})
"""The sides with users but without items."""

Column: TypeAlias = "pl.Series | list[Any]"
"""A column as a reader hands it over: typed, or Python objects of any type."""


@dataclass(frozen=True)
class Columns:
    """Result of a reader: columns by name, fetched only once chosen."""

    names: Sequence[str]  # in the order of the input; a name may occur twice
    fetch: Callable[[Sequence[str]], Mapping[str, Column]]
    source: str  # where the data came from, for messages
    # Role → name, where the form itself has roles (a dict, a TREC run). The role `value`
    # is the score of a ranking and the gain of a relevance judgment.
    roles: Mapping[str, str] | None = None
    empty_users: Column = field(default_factory=list)  # named without any item
    textual: bool = False  # the ids were read from text
    trimmed: bool = False  # no id has white space at its ends
    untyped: bool = False  # every column is String, because the text has no types (CSV)
    hint: str = ""  # added to the message when a column is missing
    counts: Counter[str] = field(
        default_factory=Counter
    )  # values that the reader dropped or converted
    shape: OriginShape = ""
    words: Words = USERS  # what the form calls users and items
    lists: ByUser | None = None  # the same, if the values need no check
    nested: frozenset[str] = frozenset()  # the columns whose values are lists
    pandas: Any = None  # the frame or series of pandas that came in
    is_ordered: bool = True  # whether the order of the items of a user has a meaning
    index: frozenset[str] = frozenset()  # of a search engine, in which the documents are
    may_be_table: frozenset[str] = frozenset()  # the columns, if a table looks the same
    # The same data as a table, if some of these names are its columns.
    as_table: Callable[[AbstractSet[str]], Columns | None] | None = None
    # The kind of frames that are made of results, by the columns of the roles, if another package
    # has it.
    kind: Callable[[Mapping[str, str]], Kind] | None = None

    @classmethod
    def of(cls, columns: Mapping[str, Column], source: str, **facts: Any) -> Columns:
        """Create `Columns` from columns in memory."""
        facts.setdefault("nested", frozenset(n for n in columns if holds_lists(columns[n])))
        return cls(
            list(columns), lambda names: {name: columns[name] for name in names}, source, **facts
        )

    @classmethod
    def from_role_columns(cls, columns: Mapping[str, Column], source: str, **facts: Any) -> Columns:
        """Create `Columns` whose names are their roles."""
        return cls.of(columns, source, roles={name: name for name in columns}, **facts)

    @classmethod
    def from_lists(cls, lists: ByUser, source: str, **facts: Any) -> Columns:
        """Create `Columns` from items by user; columns are made only when fetched."""
        names = ["user", "item", *(["score"] if lists.order == "score" else [])]
        return cls(
            names,
            lambda requested: lists.frame().select(requested).to_dict(),
            source,
            roles=dict(zip(("user", "item", "value"), names, strict=False)),
            empty_users=lists.empty_users.to_list(),
            lists=lists,
            **facts,
        )

    def append_empty_users(self, users: Column) -> Column:
        """Append the users named without any item to the users of the rows."""
        if len(self.empty_users) == 0:
            return users
        if isinstance(users, pl.Series) and isinstance(self.empty_users, pl.Series):
            return pl.concat([users, self.empty_users])
        return [*users, *self.empty_users]


_AsTable: TypeAlias = Callable[[AbstractSet[str]], Columns | None]


class MaybeTableError(DataError):
    """The items of users cannot be read, but the data may be a table, if its columns are named."""

    def __init__(self, error: DataError, as_table: _AsTable) -> None:
        super().__init__(*error.args)
        self.as_table = as_table


VALUE: dict[Side, str] = {"rankings": "score", "truth": "gain", "interactions": "rating"}

# As `normalize_name` leaves them: lower case, without underscores, hyphens and spaces.
_NAMES = {
    "user": "user userid uid queryid qid topicid questionid 사용자 사용자id 사용자번호 "
    "사용자아이디 유저 유저id 회원 회원id 회원번호 회원아이디 고객 고객id 고객번호",
    "item": "item itemid iid doc docid docno document documentid movie movieid product productid "
    "corpusid passageid pid chunkid nodeid hotelid 아이템 아이템id 아이템번호 "
    "상품 상품id 상품번호 상품코드 제품 제품id 제품번호 제품코드 영화 영화id 문서 문서id 문서번호",
    # Only names of values where higher is better: no distance. And no position, which can start at
    # 0.
    "score": "score rating prediction pred predscore predicted predictedrating predictedscore est "
    "yhat prob probability similarity logit relevancescore 점수 평점 별점 "
    "예측 예측값 예측점수 예측평점 유사도 확률",
    "rank": "rank 순위",
    "gain": "relevance rel gain label rating grade 관련도 관련성 적합도 평점 별점",
    "rating": "rating score relevance rel gain label grade 평점 별점 점수 관련도",
    "time": "time timestamp ts date datetime unixtime 시간 시각 일시 날짜 일자 구매일시 "
    "구매일 구매일자 주문일시 주문일",
    "subtopic": "subtopic subtopicid intent intentid",
}
SYNONYMS = {role: frozenset(names.split()) for role, names in _NAMES.items()}

_UNLESS = {
    "user": "customer customerid member memberid visitor visitorid reviewer reviewerid account "
    "accountid client clientid buyer buyerid shopper shopperid subscriber subscriberid listener "
    "listenerid viewer viewerid reader readerid player playerid msno query",
    "item": "corpusid passageid pid chunkid asin parentasin sku isbn track trackid song songid "
    "artist artistid album albumid article articleid news newsid video videoid book bookid game "
    "gameid appid anime animeid business businessid venue venueid restaurant restaurantid recipe "
    "recipeid listing listingid offer offerid job jobid post postid content contentid goodsid",
}
"""Names where no name of the first kind is there: a customer may have users, a document chunks."""
_SECOND = {role: frozenset(names.split()) for role, names in _UNLESS.items()}
_LAST = {"user": frozenset(["session", "sessionid", "requestid", "impressionid", "topic"])}
"""Names where no other name is there: a user has sessions, and a session is a user without one."""
for _names in (_SECOND, _LAST):
    SYNONYMS |= {role: SYNONYMS[role] | names for role, names in _names.items()}

LISTS = frozenset({"items", "itemids", "docs", "docids", "docnos", "documents"})
_LISTS_OF_NUMBERS: dict[Side, dict[str, frozenset[str]]] = {
    "rankings": {"score": frozenset({"scores"})},
    "truth": {"gain": frozenset({"gains", "ratings", "relevances"})},
    "interactions": {"rating": frozenset({"gains", "ratings", "scores"})},
}
NUMBER_LISTS = frozenset[str]().union(
    *(of_role for names in _LISTS_OF_NUMBERS.values() for of_role in names.values())
)
"""Names of columns and keys with a list of the numbers of the items of each user."""
_RANKED = re.compile("retriev|recommend|predict|result|returned|rank|candidate|context")
_JUDGED = re.compile("relevan|truth|expect|actual|gold|positive|referenc|correct")
_PERHAPS_JUDGED = re.compile("label|target|answer|judg")


def names_list(name: object, side: Side, *, strict: bool = False) -> bool:
    """Whether a name is that of lists of items of a side; `strict` leaves names that both have."""
    return _word_names_list(normalize_name(name), side, strict)


@lru_cache(1000)
def _word_names_list(text: str, side: Side, strict: bool) -> bool:
    if text in NUMBER_LISTS or any(text in SYNONYMS[role] for role in ("score", "rank", "gain")):
        return False
    if _JUDGED.search(text):
        return side != "rankings"
    if side == "rankings" and _RANKED.search(text):
        return True
    if strict:
        return False
    return text in LISTS or (side != "rankings" and bool(_PERHAPS_JUDGED.search(text)))


ROLES: dict[Side, tuple[str, ...]] = {
    "rankings": ("user", "item", "score", "rank"),
    "truth": ("user", "item", "gain", "subtopic"),
    "interactions": ("user", "item", "rating", "time"),
    "segments": ("user", "segment"),
    "clusters": ("user", "cluster"),
    "users": ("user",),
    "items": ("item",),
}
"""The roles that each side looks for; it must have the first two."""


class SharedColumns(dict[str, str]):
    """Mapping from role to column shared by all tables of a call; a table may lack some columns."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        super().__init__(columns)
        before = columns if isinstance(columns, SharedColumns) else None  # of the ground truth
        self.present: set[str] = {*before.present} if before else set()
        self.absent: dict[str, dict[Side, ColumnError]] = {**before.absent} if before else {}

    def check_absent_columns(self) -> tuple[str, ...]:
        """Raise an error for a column absent from all tables; return notes on unused entries."""
        for role, errors in self.absent.items():
            if role not in self.present:
                raise ColumnError(" ".join(map(str, errors.values())))
        unused = ", ".join(self.keys() - {*ROLES["rankings"], *ROLES["truth"]})
        lacking = ", ".join(f"{role} ({self[role]})" for role in self.absent)
        notes = {
            "columns= has roles that this call does not use: ": unused,
            "columns= names columns that a table lacks: ": lacking,
        }
        return tuple(text + names for text, names in notes.items() if names)


_WITHOUT_CHOICE = frozenset(
    {"segments", "clusters", "items"}
)  # no option says which column is which


def holds_lists(column: Column) -> bool:
    """Whether the values of a column are lists or mappings; a tuple counts as one id."""
    if isinstance(column, pl.Series):
        return column.dtype in (pl.List, pl.Array)
    values = (value for value in column if value is not None)
    return _is_list(next(values, None)) and all(map(_is_list, values))


def _is_list(value: object) -> bool:
    sized = hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0
    return sized and not isinstance(value, str | bytes | tuple)


@lru_cache(1000, typed=True)  # a table is asked for its names again and again
def normalize_name(name: Hashable) -> str:
    """Normalize a column name for comparison with synonyms."""
    return "".join(str(name).split()).replace("_", "").replace("-", "").lower()


_LOOK = {
    "score": "score scores pred preds predicted prediction predictions est estimate estimated prob "
    "probs proba probability similarity sim logit logits hat ypred yhat yscore",
    "gain": "true truth target targets label labels relevance rel relevant gain gains grade grades "
    "actual actuals binary clicked liked ytrue rating ratings",
}
_LOOKS = {role: frozenset(words.split()) for role, words in _LOOK.items()}


def looks_like(role: str, name: str) -> bool:
    """Whether a word in a name says that the column is a score, or a gain."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return not _LOOKS[role].isdisjoint(re.findall(r"[^\W\d_]+", spaced.lower()))


def likely_first(names: Sequence[str], role: str) -> list[str]:
    """Names, first those that look like scores if `role` is the score, and last those like gains.

    The other way round for the gain.
    """
    other = "gain" if role == "score" else "score"
    if role not in _LOOKS:
        return [*names]
    return sorted(names, key=lambda name: looks_like(other, name) - looks_like(role, name))


def names_for_role(role: str, names: Sequence[object]) -> list[str]:
    """Names of the columns that could have a role."""
    synonyms = SYNONYMS.get(role, {role})
    texts = [*map(str, names)]
    # All at once first: the names may be the ids of many users.
    if set(synonyms).isdisjoint(normalize_name.__wrapped__("\0".join(texts)).split("\0")):
        return []
    possible = [text for text in texts if normalize_name(text) in synonyms]
    for weaker in (_LAST, _SECOND):
        names_there = weaker.get(role, frozenset())
        possible = [t for t in possible if normalize_name(t) not in names_there] or possible
    return possible


_RUNS = (
    "model algorithm algo system systemid run runid runtag fold split isplit splitindex seed "
    "experiment recommender retriever method trial epoch day"
)
"""Names of columns that tell several rankings of one user apart."""
FACTS_OR_RUNS = frozenset({"date", "week", "tag", "version", "variant"})
"""The same, unless every item has one of their values: then they are facts about items."""


def names_of_runs(read: Columns, roles: Mapping[str, str]) -> list[str]:
    """Names of the columns without a role that tell runs apart."""
    names = [name for name in read.names if name not in roles.values()]
    runs = {*_RUNS.split(), *FACTS_OR_RUNS}
    return [name for name in names if read.roles is None and normalize_name(name) in runs]


def number_users_of_lists(read: Columns, side: Side, item: str = "") -> Columns:
    """Number the users of a table without names of users, if it has lists of items.

    These are in the column `item`, or in one with the name of lists.
    """
    if read.roles is not None or not read.nested or side not in VALUE:
        return read
    index = getattr(read.pandas, "index", ())
    has_labels = any(label != row for row, label in enumerate(index))
    if has_labels or names_for_role("user", read.names) or names_for_role("item", read.names):
        return read
    if item not in read.nested and not _lists_of_items(read, side):
        return read

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        others = [name for name in names if name != "user"]
        columns = read.fetch(others or [*read.nested])
        n = len(next(iter(columns.values())))
        return {"user": [*range(n)], **{name: columns[name] for name in others}}

    return replace(read, names=["user", *read.names], fetch=fetch, shape="rows")


def _lists_of_items(read: Columns, side: Side) -> list[str]:
    """Names of the columns that could have the lists of items of a side."""
    nested = [name for name in read.names if name in read.nested]
    judged = [name for name in nested if names_list(name, "truth", strict=True)]
    certain = [name for name in nested if names_list(name, side, strict=True)]
    named = certain or [name for name in nested if names_list(name, side)]
    if not named and side == "rankings" and judged and len(nested) == len(judged) + 1:
        return [name for name in nested if name not in judged]  # of a record
    return named


def vocabulary_of(read: Columns) -> Words:
    """Vocabulary for users and items, by the form or its column names."""
    if read.roles is not None:
        return read.words
    users = names_for_role("user", read.names)
    return RETRIEVAL if users and all(normalize_name(name) in _QUERIES for name in users) else USERS


_QUERIES = frozenset({"query", "queryid", "qid", "topicid"})


def frame_kind(read: Columns, roles: Mapping[str, str]) -> Kind:
    """Determine the kind of frame of the input, given the columns of the roles."""
    data, labels, types = read.pandas, {}, {}
    if data is None:
        return POLARS
    if data.ndim == 1:  # a Series, with the users in its index
        labels, types = {"user": data.index.name, "item": data.name}, {"user": data.index.dtype}
    elif read.roles is None:
        for role in roles.keys() & {"user", "item"}:
            position = list(read.names).index(roles[role])
            labels[role], types[role] = data.columns[position], data.dtypes.iloc[position]
    names = {role: label for role, label in labels.items() if label is not None}
    return Kind(is_pandas=True, names=names, types=types)


def result_kind(read: Columns, roles: Mapping[str, str]) -> Kind:
    """Determine the kind of frames that are made of results, given the columns of the roles."""
    return frame_kind(read, roles) if read.kind is None else read.kind(roles)


def resolve_roles(read: Columns, side: Side, columns: Mapping[str, str] | None) -> dict[str, str]:
    """Find the column of each role of a side, in the order of `ROLES`.

    The first two roles are always there. `columns` (role → name) wins over the synonyms; a name
    that is None says that no column has the role. Roles of the other side are allowed and ignored,
    because one mapping serves both sides. Keys that are not roles raise `UsageError`; missing or
    ambiguous columns raise `ColumnError`.
    """
    options = {} if columns is None else columns
    if not isinstance(options, Mapping) or any(not isinstance(key, str) for key in options):
        raise option_error("columns", "a mapping from role to column name", columns)
    left_out = {key for key, name in options.items() if name is None}
    named_columns = {key: str(name) for key, name in options.items() if name is not None}
    if unknown := [key for key in options if key not in SYNONYMS]:
        raise UsageError(
            f"unknown role {brief(unknown[0])} in columns=; the roles are "
            f"{format_few(SYNONYMS, len(SYNONYMS))}{suggest_words(unknown[0], SYNONYMS) or '.'}"
        )
    roles, absent = _find_named_columns(named_columns, side, read, columns)
    if read.roles is None:
        if len(set(roles.values())) < len(roles):
            raise UsageError(
                f"columns={brief(roles)} names one column for two roles; each needs its own."
            )
        for role in ROLES[side]:
            if role in roles or role in left_out:
                continue
            if name := _find_column_by_synonym(role, read, roles, side):
                roles[role] = name
        _add_tool_roles(read, side, roles)
    else:
        roles = _roles_of_form(read, side)
    for role in left_out & roles.keys():
        del roles[role]
    if missing := [role for role in ROLES[side][:2] if role not in roles]:
        if missing == ["item"] and "user" in roles and (lists := _describe_any_lists(read, roles)):
            raise ColumnError(f"{read.source} has no column for the item. {lists}")
        raise absent.get(missing[0]) or _missing_columns_error(missing, read, side)
    if "rank" not in named_columns and ("score" in named_columns or is_trec_run(roles)):
        roles.pop("rank", None)
    return {role: roles[role] for role in ROLES[side] if role in roles}


def _roles_of_form(read: Columns, side: Side) -> dict[str, str]:
    value = VALUE.get(side, "value")
    by_form = {
        value if role == "value" else role: name for role, name in (read.roles or {}).items()
    }
    return {role: by_form[role] for role in ROLES[side] if role in by_form}


def _describe_any_lists(read: Columns, roles: Mapping[str, str]) -> str:
    """Describe the cells of the first column of lists; "" if no column has any."""
    columns = dict(read.fetch([*dict.fromkeys(read.names)]))
    users = columns.pop(roles["user"])
    found = (describe_lists(name, column, users) for name, column in columns.items())
    return next(filter(None, found), "")


def is_named(columns: Mapping[str, Any] | None, role: str, *, as_none: bool = False) -> bool:
    """Whether `columns` says which column has a role, or, if `as_none`, that none has it."""
    return columns is not None and role in columns and not (as_none and columns[role] is not None)


def _find_named_columns(
    named_columns: Mapping[str, str], side: Side, read: Columns, columns: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, ColumnError]]:
    """Find the columns named for the roles of a side; return these and errors for absent columns.

    An absent column is an error at once, unless other tables of the call may have it.
    """
    roles, absent = {}, {}
    for role in (role for role in ROLES[side] if role in named_columns):
        try:
            roles[role] = _find_named_column(role, named_columns[role], side, read)
        except ColumnError as error:
            if not isinstance(columns, SharedColumns) or named_columns[role] in read.names:
                raise
            absent[role] = error
    if isinstance(columns, SharedColumns):
        columns.present.update(roles)
        for role, lacking in absent.items():
            columns.absent[role] = {**columns.absent.get(role, {}), side: lacking}
    return roles, absent


def _find_named_column(role: str, name: str, side: Side, read: Columns) -> str:
    if read.roles is not None:
        if _roles_of_form(read, side).get(role) == name:
            return name
        raise ColumnError(
            f"columns={{{role!r}: {brief(name)}}} names a column, and {read.source} has none: it "
            f"is read as items by user. Leave columns= out, or pass a table with this column."
        )
    count = list(read.names).count(name)
    if count == 1:
        return name
    wrong = (
        f"{count} columns of {read.source}, which are all called {brief(name)}. Rename all but one."
        if count
        else f"a column that {read.source} does not have. {_column_names_sentence(read)}"
        f"{suggest_words(name, read.names) or '.'}"
    )
    raise ColumnError(f"columns={{{role!r}: {brief(name)}}} names {wrong}")


def is_trec_run(roles: Mapping[str, str]) -> bool:
    """Whether the columns are those of a TREC run in PyTerrier, which is ordered by score."""
    return [roles.get(role) for role in ("user", "item", "score")] == ["qid", "docno", "score"]


def _add_tool_roles(read: Columns, side: Side, roles: dict[str, str]) -> None:
    """Add the columns whose names have their role only next to certain other columns."""
    if side != "truth":
        return
    if "subtopic" not in roles and normalize_name(roles.get("user")) in ("qid", "queryid"):
        roles |= [("subtopic", name) for name in read.names if normalize_name(name) == "iteration"]
    if "gain" in roles:
        return
    scores = [name for name in read.names if normalize_name(name) == "score"]
    if scores and [normalize_name(roles.get(role)) for role in ("user", "item")] == [
        "queryid",
        "corpusid",
    ]:
        roles["gain"] = _find_named_column("gain", scores[0], side, read)  # the judgments of BEIR


def _find_column_by_synonym(
    role: str, read: Columns, roles: Mapping[str, str], side: Side
) -> str | None:
    candidates = [name for name in names_for_role(role, read.names) if name not in roles.values()]
    if {*candidates} == {"docid", "docno"} and "qid" in read.names:  # docid is PyTerrier's own
        return "docno"
    if role == "item" and not candidates:
        candidates = _lists_of_items(read, side)
    elif not candidates and roles.get("item") in read.nested:
        synonyms = _LISTS_OF_NUMBERS.get(side, {}).get(role, frozenset())
        candidates = [name for name in read.names if normalize_name(name) in synonyms]
    if role == "subtopic" and len(candidates) > 1:
        return None
    if len(candidates) > 1:
        choose = (
            f"Say which one, for example columns={{{role!r}: "
            f"{brief(likely_first(candidates, role)[0])}}}, or rename"
        )
        if side in _WITHOUT_CHOICE:
            choose = "Rename"
        raise ColumnError(
            f"{read.source} has {len(candidates)} columns that could be the {role}: "
            f"{format_few(candidates, 9)}. {choose} the others."
        )
    return candidates[0] if candidates else None


def _missing_columns_error(roles: Sequence[str], read: Columns, side: Side) -> ColumnError:
    names = " and ".join(map(repr, roles))
    column, it = ("columns", "them") if len(roles) > 1 else ("column", "it")
    remedy = f"Rename the {column} to {names}."
    if side not in _WITHOUT_CHOICE:
        choice = ", ".join(f"{role!r}: ..." for role in roles)
        remedy = f"Name the {column} with columns={{{choice}}}, or rename {it} to {names}."
    return ColumnError(
        f"{read.source} has no column for the {' and none for the '.join(roles)}. "
        f"{_column_names_sentence(read)}. {remedy}{read.hint}"
    )


def _column_names_sentence(read: Columns) -> str:
    return f"Its columns are {format_few(read.names, 12)}" if read.names else "It has no columns"
