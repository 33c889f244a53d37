"""Data that could mean two things: a table of forms, each with its rows or its error."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from rankmeter._reading.read import read_interactions, read_rankings, read_truth
from rankmeter.errors import ColumnError, DataError, IdTypeError, InvalidValueError


class ScoredDoc(NamedTuple):
    """As ir_measures and ir_datasets call it."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class Row(NamedTuple):
    user: str
    items: list[str]


class Hit(NamedTuple):
    """Without a user."""

    doc_id: str
    score: float


TUPLES = {
    "user and item": ([("u", "a"), ("u", "b")], "schema=['user', 'item'], orient='row'"),
    "integers": ([(1, 5), (1, 7)], "the tuple (1, 5), and whether its fields are user, item or"),
    "one row": ([(1, 5)], "Row 1 of list"),
    "in a tuple": (((1, 5), (2, 7)), "Row 1 of tuple"),
    "from a generator": (iter([(1, 5), (2, 7)]), "{user: [items]} or a list of lists"),
    "with a number": ([(1, 5, 3.0), (2, 5, 1.0)], "['user', 'item', 'score']"),
    "with a time": ([(1, 5, 3.0, 99), (2, 5, 1.0, 99)], "['user', 'item', 'score', 'time']"),
    "text and integer": ([("d1", 3), ("d2", 1)], "for items of one user, {item: score}"),
}


@pytest.mark.parametrize(("rows", "words"), TUPLES.values(), ids=TUPLES)
def test_tuples_that_may_be_rows_are_refused(rows, words):
    with pytest.raises(DataError) as caught:
        read_rankings(rows)
    assert words in str(caught.value)


@pytest.mark.parametrize(("read", "name"), [(read_truth, "gain"), (read_interactions, "rating")])
def test_tuples_are_refused_on_every_side(read, name):
    with pytest.raises(DataError, match=rf"schema=\['user', 'item', '{name}'\]"):
        read([("u", "a", 3)])


READ = {
    # Tuples that are lists of items, because rows of a table have one length.
    "lists as tuples": (read_rankings, [(5,), (7, 8)], [(0, 5), (1, 7), (1, 8)]),
    "tuples of one": (read_truth, [(5,), (7,)], [(0, 5, 1.0), (1, 7, 1.0)]),
    "tuples of five": (read_rankings, [tuple(range(5))], [(0, i) for i in range(5)]),
    # Pairs of which only one part can be the item.
    "scored": (read_rankings, [("a", 0.9), ("b", 0.3)], [(0, "a", 0.9), (0, "b", 0.3)]),
    "scored in lists": (read_rankings, [["a", 0.9], ["b", 0.3]], [(0, "a", 0.9), (0, "b", 0.3)]),
    "scored by user": (read_rankings, {"u": [("a", 2), ("b", 0.3)]},
                       [("u", "a", 2.0), ("u", "b", 0.3)]),
    "graded by user": (read_truth, {"u": [("a", 2), ("b", 0)]},
                       [("u", "a", 2.0), ("u", "b", 0.0)]),
    "integers scored": (read_rankings, {"u": ((5, 0.9), (7, np.float32(0.5)))},
                        [("u", 5, 0.9), ("u", 7, 0.5)]),
    "scored by row": (read_rankings, [[("a", 0.9)], [("b", 1), ("a", 2)]],
                      [(0, "a", 0.9), (1, "b", 1.0), (1, "a", 2.0)]),
    "scored twice": (read_rankings, {"u": [("a", 0.9), ("a", 0.3)]},
                     [("u", "a", 0.9), ("u", "a", 0.3)]),
    "hits": (read_rankings, {"u": [Hit("a", 0.9)], "v": []}, [("u", "a", 0.9)]),
    # Rows that name their fields.
    "run": (read_rankings, [ScoredDoc("q", "a", 0.9), ScoredDoc("q", "b", 0.3)],
            [("q", "a", 0.9), ("q", "b", 0.3)]),
    "generated run": (read_rankings, iter([ScoredDoc("q", "a", 0.9)]), [("q", "a", 0.9)]),
    "qrels": (read_truth, [Qrel("q", "a", 2), Qrel("q", "b", 0)],
              [("q", "a", 2.0), ("q", "b", 0.0)]),
    "named rows": (read_truth, list(pd.DataFrame({"user": [1], "item": [2], "gain": [3]})
                                    .itertuples(index=False)), [(1, 2, 3.0)]),
    # One value per user.
    "arrays": (read_rankings, {1: np.array([7, 8]), 2: np.array([9])}, [(1, 7), (1, 8), (2, 9)]),
    "polars": (read_rankings, {1: pl.Series([7, 8])}, [(1, 7), (1, 8)]),
    "set": (read_truth, {1: {7}}, [(1, 7, 1.0)]),
}  # fmt: skip


@pytest.mark.parametrize(("read", "data", "rows"), READ.values(), ids=READ)
def test_data_that_can_mean_one_thing_are_read(read, data, rows):
    assert read(data).frame.rows() == rows


def test_named_tuples_of_the_other_side_may_be_swapped():
    with pytest.raises(ColumnError, match="are the two arguments swapped"):
        read_truth([ScoredDoc("q", "a", 0.9)])
    with pytest.raises(ColumnError, match="the two arguments are swapped"):
        read_rankings([Qrel("q", "a", 1)])


@pytest.mark.parametrize("pair", [(0.5, "a"), (5, 2), ("a", "b"), ("a", True), (True, 0.5)])
def test_pairs_of_a_user_that_may_be_read_both_ways_are_refused(pair):
    with pytest.raises(IdTypeError, match=r"type tuple .* pass \{item: number\}"):
        read_rankings({"u": [pair, pair]})


def test_named_tuples_and_others_do_not_mix():
    with pytest.raises(DataError, match="Row 2 of list"):
        read_rankings([ScoredDoc("q", "a", 0.9), ("q", "b", 0.3)])
    assert read_rankings([Row("u", ["a", "b"])]).frame.rows() == [("u", "a"), ("u", "b")]


VALUES = {
    "integers": [3, 2, 1],
    "floats": [0.9, 0.5, 0.25],
    "whole floats": [3.0, 2.0, 1.0],
    "booleans": [True, False, True],
    "text": ["a", "b", "c"],
}
INDEXES = {
    "counts rows": [0, 1, 2],
    "integers": [7, 8, 9],
    "text": ["x", "y", "z"],
}
VALUES_ARE_ITEMS, INDEX_IS_ITEMS, REFUSED = "values", "index", "refused"
READINGS = {
    ("integers", "counts rows"): VALUES_ARE_ITEMS,
    ("integers", "integers"): REFUSED,
    ("integers", "text"): INDEX_IS_ITEMS,
    ("floats", "counts rows"): REFUSED,
    ("floats", "integers"): INDEX_IS_ITEMS,
    ("floats", "text"): INDEX_IS_ITEMS,
    ("whole floats", "counts rows"): REFUSED,
    ("whole floats", "integers"): INDEX_IS_ITEMS,
    ("whole floats", "text"): INDEX_IS_ITEMS,
    ("booleans", "counts rows"): REFUSED,
    ("booleans", "integers"): INDEX_IS_ITEMS,
    ("booleans", "text"): INDEX_IS_ITEMS,
    ("text", "counts rows"): VALUES_ARE_ITEMS,
    ("text", "integers"): VALUES_ARE_ITEMS,
    ("text", "text"): VALUES_ARE_ITEMS,
}


def read_series(series, reading):
    """The rows that a user with a Series must have."""
    pairs = zip(series.index, series, strict=True)
    if reading == INDEX_IS_ITEMS:
        return [("u", item, float(gain)) for item, gain in pairs]
    return [("u", item, 1.0) for _, item in pairs]


@pytest.mark.parametrize(("values", "index"), READINGS)
@pytest.mark.parametrize("form", [lambda s: {"u": s}, lambda s: pd.Series([s], index=["u"])])
def test_a_series_of_a_user_is_read_where_its_items_are_certain(values, index, form):
    reading = READINGS[values, index]
    series = pd.Series(VALUES[values], index=INDEXES[index])
    if reading == REFUSED:
        with pytest.raises(DataError, match=r"User 'u' .* \.tolist\(\) .* \.to_dict\(\)"):
            read_truth(form(series))
    else:
        assert read_truth(form(series)).frame.rows() == read_series(series, reading)


def test_every_kind_of_series_has_a_reading():
    assert READINGS.keys() == {(value, index) for value in VALUES for index in INDEXES}


def test_names_say_what_a_series_holds():
    index = [7, 8, 9]
    for name in ("item", "movieId", "product_id"):
        items = pd.Series([3, 2, 1], index=index, name=name)
        assert read_truth({"u": items}).frame.rows() == read_series(items, VALUES_ARE_ITEMS)
        gains = pd.Series([3, 2, 1], index=pd.Index(index, name=name))
        assert read_truth({"u": gains}).frame.rows() == read_series(gains, INDEX_IS_ITEMS)


@pytest.mark.parametrize(
    ("read", "name"), [(read_rankings, "score"), (read_rankings, "rank"), (read_truth, "rating")]
)
def test_integers_of_a_series_that_is_named_after_a_number_are_no_items(read, name):
    with pytest.raises(DataError, match=r"User 'u' .* \.tolist\(\) .* \.to_dict\(\)"):
        read({"u": pd.Series([3, 1, 2], name=name)})


def test_the_groups_of_a_frame_are_lists_of_its_items():
    frame = pd.DataFrame({"user": ["u", "v", "u"], "item": [7, 8, 9]})
    groups = dict(iter(frame.groupby("user")["item"]))
    assert read_rankings(groups).frame.rows() == [("u", 7), ("u", 9), ("v", 8)]


def test_a_series_without_values_is_a_user_without_items():
    table = read_truth({"u": pd.Series([], dtype=float), "v": ["a"]})
    assert table.empty_users.to_list() == ["u"]


def test_a_series_with_two_levels_of_index_is_refused():
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    with pytest.raises(DataError, match="tuple"):
        read_truth({"u": pd.Series([0.5, 0.25], index=index)})


ZEROS_AND_ONES = np.array([[0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
LABELS = {
    "integers": ZEROS_AND_ONES,
    "small integers": ZEROS_AND_ONES.astype(np.int8),
    "floats": ZEROS_AND_ONES.astype(np.float32),
    "booleans": ZEROS_AND_ONES.astype(bool),
    "lists": ZEROS_AND_ONES.tolist(),
    "lists of booleans": ZEROS_AND_ONES.astype(bool).tolist(),
    "arrays by user": dict(zip("uvw", ZEROS_AND_ONES, strict=True)),
    "nothing masked": np.ma.masked_array(ZEROS_AND_ONES),
    "mostly ones": 1 - ZEROS_AND_ONES,
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_a_matrix_of_labels_is_not_read_as_ids(labels):
    for read, words in (
        (read_truth, ["[np.flatnonzero(row) for row in labels]", "sparse matrix", "as gains"]),
        (read_rankings, ["the top k, np.argsort(-scores, axis=1)[:, :k]", "as scores"]),
    ):
        with pytest.raises(DataError) as caught:
            read(labels)
        for word in words:
            assert word in str(caught.value)


GRADES = {
    "graded": np.array([[0, 4, 0, 2, 0], [3, 0, 0, 1, 0]]),
    "graded floats": np.array([[0, 4.0, 0, 2, 0], [3, 0, 0, 1, 0]]),
    "halves": np.array([[0, 4.5, 0, 2, 0], [3, 0, 0, 1, 0]]),
    "padding": [[50, -1, -1], [70, -1, -1]],
    "one user": [[0, 1, 0, 1]],
    "one user's gains": [3, 3, 2, 1],
    "one user's labels": [True, False, True],
    "one user's halves": [0.5, 1, 0.5],
    "an array": np.array([3, 3, 2, 1]),
}


@pytest.mark.parametrize("gains", GRADES.values(), ids=GRADES)
def test_gains_in_place_of_ids_are_refused_as_ground_truth(gains):
    with pytest.raises(DataError, match=r"\{item: score\} as rankings and \{item: gain\}"):
        read_truth(gains)


def test_what_a_message_says_to_pass_is_read_as_the_labels():
    relevant = [(0, 1), (1, 0), (1, 3)]
    lists = [np.flatnonzero(row) for row in ZEROS_AND_ONES]
    for truth in (lists, sparse.csr_matrix(ZEROS_AND_ONES)):
        table = read_truth(truth)
        assert table.frame.rows() == [(*pair, 1.0) for pair in relevant]
        assert table.empty_users.to_list() == [2]
    scores = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.3]])
    assert read_rankings(np.argsort(-scores, axis=1)[:, :2]).frame["item"].to_list() == [1, 2, 0, 2]


IDS = {
    "ids": [[0, 1, 2], [2, 1, 0]],
    "few ids": np.array([[0, 1], [1, 0]]),
    "one repeats": np.array([[5, 7], [9, 9]]),
    "different lengths": {"u": [5, 5], "v": [7, 7, 7]},
    "other ids": [[500, 500], [700, 700]],
    "one user, large ids": [500, 500, 700],
    "one user, unsigned ids": [2**63, 2**63],
    "names": [["a", "a"], ["a", "a"]],
    "masked padding": np.ma.masked_equal([[7, 8, -1], [7, -1, -1]], -1),
}


@pytest.mark.parametrize("data", IDS.values(), ids=IDS)
def test_lists_of_ids_are_read_where_some_repeat(data):
    """Equal judgments are one judgment; what repeated items of rankings mean is a choice."""
    values = data.values() if isinstance(data, dict) else data
    n = sum(1 if np.isscalar(row) else np.ma.count(np.ma.asarray(row)) for row in values)
    assert len(read_truth(data).frame) == len(read_rankings(data).frame) == n


def test_repeated_interactions_are_rows():
    assert len(read_interactions([[0, 1, 0], [1, 1, 0]])) == 6


def test_a_matrix_of_scores_is_named_as_such():
    with pytest.raises(IdTypeError, match=r"0\.25, .* scores of all items \(users × items\)"):
        read_rankings(np.array([[0.25, 0.5], [0.75, 0.1]]))
    with pytest.raises(IdTypeError, match="Is this the right column"):
        read_rankings(pl.DataFrame({"user": [1], "item": [0.5]}))


class Tensor:
    """What a tensor of torch offers: NumPy only on the CPU, without gradient, of known types."""

    def __init__(self, values, dtype=None, *, device="cpu", requires_grad=False):
        self.values = np.asarray(values, dtype=None if dtype == "bfloat16" else dtype)
        self.dtype = f"torch.{dtype or self.values.dtype}"
        self.device, self.requires_grad = device, requires_grad

    def __array__(self, dtype=None, copy=None):
        if self.device != "cpu":
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values.astype(dtype) if dtype else self.values

    def __len__(self):
        if not self.values.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self.values)

    def __iter__(self):
        raise NotImplementedError

    def detach(self):
        self.requires_grad = False
        return self

    def cpu(self):
        self.device = "cpu"
        return self

    def tolist(self):
        return self.values.tolist()


TENSORS = {
    "integers": (Tensor([[7, 8], [9, 7]]), [7, 8, 9, 7]),
    "int8": (Tensor([[7, 8], [9, 7]], "int8"), [7, 8, 9, 7]),
    "uint8": (Tensor([[7, 8], [9, 7]], "uint8"), [7, 8, 9, 7]),
    "half": (Tensor([[7, 8], [9, 7]], "float16"), [7, 8, 9, 7]),
    "one user": (Tensor([7, 8]), [7, 8]),
    "gradient": (Tensor([[7.0, 8.0]], requires_grad=True), [7, 8]),
    "device": (Tensor([[7, 8]], device="cuda:0"), [7, 8]),
    "in a list": ([Tensor([7, 8]), Tensor([9])], [7, 8, 9]),
    "by user": ({"u": Tensor([7, 8]), "v": Tensor([9])}, [7, 8, 9]),
    "bfloat16": (Tensor([[7, 8]], "bfloat16"), r"cannot be read as an array: .*BFloat16.*Pass ids"),
    "bfloat16 by user": ({"u": Tensor([256.0], "bfloat16")}, "bfloat16 cannot hold every integer"),
    "a number": (Tensor(5), r"has shape \(\)"),
    "numbers in a list": ([Tensor(5), Tensor(7)], "where a list of items"),
    "a number by user": ({"u": Tensor(5)}, "where a list of items"),
    "three dimensions": (Tensor([[[1]]]), r"has shape \(1, 1, 1\)"),
    "three dimensions in a list": ([Tensor([[1, 2]])], "type list"),
    "half too large": (Tensor([[2048]], "float16"), "cannot hold every integer"),
    "half too large by user": ({"u": Tensor([2048], "float16")}, "cannot hold every integer"),
    "single too large by user": ({"u": np.float32([2**24])}, "float32 cannot hold every integer"),
    "single too large": ({"u": pl.Series([2**24], dtype=pl.Float32)}, "cannot hold every integer"),
    "half of NumPy": (np.float16([[2048]]), "float16 cannot hold every integer"),
    "booleans": (Tensor([[True, False]]), "labels or gains of all items"),
    "scores": (Tensor([[0.5, 0.25]]), "labels or gains of all items"),
    "scores with gradient": (Tensor([[0.5, 0.2]], requires_grad=True), "labels or gains of all"),
    "labels": (Tensor(ZEROS_AND_ONES), "repeats some of them"),
}


@pytest.mark.parametrize(("data", "expected"), TENSORS.values(), ids=TENSORS)
def test_tensors_are_read_as_ids_or_refused(data, expected):
    if isinstance(expected, list):
        assert read_truth(data).frame["item"].to_list() == expected
    else:
        with pytest.raises(DataError, match=expected):
            read_truth(data)


def test_an_array_of_a_type_beyond_numpy_is_refused():
    void = np.zeros((2, 3), dtype="V2")
    with pytest.raises(DataError, match=r"type \|V2; expected item ids"):
        read_rankings(void)


MIXED = {
    "rows": '{"user": 1, "item": "a", "gain": true}\n{"user": 1, "item": "b", "gain": 3}\n',
    "rows, number first": '{"user": 1, "item": "a", "gain": 3}\n'
    '{"user": 1, "item": "b", "gain":true}\n',
    "floats": '[{"user": 1, "item": "a", "gain": false}, {"user": 1, "item": "b", "gain": 2.5}]',
    "by user": '{"u": {"a": true, "b": 3}}',
    "lists": '{"user": "u", "items": ["a", "b"], "gains": [true, 3]}\n',
    "csv": "user,item,gain\n1,a,true\n1,b,3\n",
}


@pytest.mark.parametrize("text", MIXED.values(), ids=MIXED)
def test_a_text_with_gains_that_are_true_and_numbers_is_refused(tmp_path, text):
    path = tmp_path / ("a.csv" if text.startswith("user") else "a.json")
    path.write_text(text)
    with pytest.raises(InvalidValueError, match=r"The gain \S+ of .* is not a number"):
        read_truth(path)


def test_gains_of_json_may_all_be_true_or_false(tmp_path):
    (tmp_path / "a.json").write_text('{"u": {"a": true, "b": false}}')
    assert read_truth(tmp_path / "a.json").frame.rows() == [("u", "a", 1.0), ("u", "b", 0.0)]
