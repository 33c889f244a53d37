"""Recognizing the columns of users, items, scores, ranks and gains."""

import json

import pandas as pd
import polars as pl
import pytest

import rankmeter as rm
from rankmeter._reading.columns import SYNONYMS, normalize_name
from rankmeter._reading.read import read_interactions, read_rankings, read_truth
from rankmeter.errors import ColumnError, InvalidValueError, NoOverlapError, UsageError

SPELLINGS = {
    "user": "user user_id uid userid query_id qid q_id userID topic_id session session_id "
    "USER User_Id user-id customer_id query reviewerID visitorid msno account_id client_id member "
    "buyer",
    "item": "item item_id iid doc_id docid docno itemID doc document movieId movie_id product_id "
    "corpus-id passage_id pid chunk_id "
    "ITEM Item-ID asin parent_asin track_id song song_id business_id article_id news_id video_id "
    "sku isbn",
    "score": "score rating prediction pred SCORE Rating est predicted predicted_rating yhat y_hat "
    "prob probability similarity logit pred_score predicted_score",
    "rank": "rank Rank RANK",
    "gain": "relevance rel gain label rating grade Relevance",
}


def frame(**columns):
    return pl.DataFrame(columns)


@pytest.mark.parametrize("name", SPELLINGS["user"].split())
def test_the_user_goes_by_many_names(name):
    assert read_rankings(pl.DataFrame({name: [7], "item": ["a"]})).frame.rows() == [(7, "a")]


@pytest.mark.parametrize("name", SPELLINGS["item"].split())
def test_the_item_goes_by_many_names(name):
    assert read_rankings(pl.DataFrame({name: [7], "user": ["a"]})).frame.rows() == [("a", 7)]


@pytest.mark.parametrize("name", SPELLINGS["score"].split())
def test_the_score_goes_by_many_names(name):
    data = pl.DataFrame({"user": [1], "item": [2], name: [3]})
    assert read_rankings(data).frame.rows(named=True) == [{"user": 1, "item": 2, "score": 3.0}]


@pytest.mark.parametrize("name", SPELLINGS["rank"].split())
def test_the_rank_goes_by_its_name(name):
    data = pl.DataFrame({"user": [1], "item": [2], name: [3]})
    assert read_rankings(data).frame.rows(named=True) == [{"user": 1, "item": 2, "rank": 3.0}]
    assert read_rankings(data).order == "rank"


@pytest.mark.parametrize("name", SPELLINGS["gain"].split())
def test_the_gain_goes_by_many_names(name):
    data = pl.DataFrame({"user": [1], "item": [2], name: [3]})
    assert read_truth(data).frame.rows() == [(1, 2, 3.0)]


def test_a_name_of_the_second_kind_counts_where_no_plain_name_is_there():
    data = {"customer_id": ["c"], "user_id": ["u"], "asin": ["b"], "item": ["a"]}
    assert read_rankings(pl.DataFrame(data)).frame.rows() == [("u", "a")]
    data = {"user_id": ["u"], "asin": ["b"], "parent_asin": ["a"]}
    with pytest.raises(ColumnError, match="2 columns that could be the item: 'asin', 'parent_asin"):
        read_rankings(pl.DataFrame(data))


def test_all_missing_columns_are_named_at_once():
    with pytest.raises(ColumnError) as error:
        read_rankings(pl.DataFrame({"who": [1], "what": [2]}))
    assert str(error.value) == (
        "polars DataFrame has no column for the user and none for the item. Its columns are 'who', "
        "'what'. Name the columns with columns={'user': ..., 'item': ...}, or rename them to "
        "'user' and 'item'."
    )


@pytest.mark.parametrize("name", ["time", "timestamp", "ts", "date", "datetime", "unix_time"])
def test_the_time_goes_by_many_names(name):
    data = pl.DataFrame({"user": [1], "item": [2], name: [3]})
    assert read_interactions(data).columns == ["user", "item", "time"]


def test_synonyms_are_stored_as_they_are_compared():
    for names in SYNONYMS.values():
        assert {normalize_name(name) for name in names} == names


def test_a_score_is_no_gain_and_a_gain_is_no_score():
    data = frame(user=[1], item=[2], score=[0.5], relevance=[3])

    assert read_truth(data).frame["gain"].to_list() == [3.0]
    assert read_rankings(data).frame["score"].to_list() == [0.5]
    with pytest.raises(ColumnError, match="'score' looks like rankings: are the two arguments sw"):
        read_truth(data.drop("relevance"))
    assert read_truth(data.select("user", "item")).counts["assumed_gains"] == 1


def test_a_rating_is_a_score_in_rankings_and_a_gain_in_truth():
    data = frame(user=[1], item=[2], rating=[4.5])

    assert read_rankings(data).frame.columns == ["user", "item", "score"]
    assert read_truth(data).frame.columns == ["user", "item", "gain"]


def test_other_columns_are_not_looked_at():
    data = frame(user=[1], item=[2], title=[None], genres=[["x"]], geo=[{"a": 1}])

    assert read_rankings(data).frame.columns == ["user", "item"]


# Columns with unknown names that could be a score or a gain, by their values.
UNKNOWN_NUMBERS = {
    "floats": [0.5, 0.7],
    "integers": [1, 0],
    "booleans": [True, False],
    "with nulls": [None, 2.5],
    "decimals": pl.Series(["1.5", "2"]).cast(pl.Decimal(10, 2)),
    "powers of ten": ["1.5e+20", "2.5e+17"],
    "infinite": [float("inf"), 1.5],
}


def as_csv(data, folder):
    data.write_csv(folder / "data.csv")
    return folder / "data.csv"


def as_parquet(data, folder):
    data.write_parquet(folder / "data.parquet")
    return folder / "data.parquet"


HOLDERS = {
    "polars": lambda data, _: data,
    "lazy": lambda data, _: data.lazy(),
    "pandas": lambda data, _: pd.DataFrame(data.to_dict(as_series=False)),
    "columns": lambda data, _: data.to_dict(as_series=False),
    "rows": lambda data, _: data.to_dicts(),
    "csv": as_csv,
    "parquet": as_parquet,
}


@pytest.mark.parametrize("values", UNKNOWN_NUMBERS.values(), ids=UNKNOWN_NUMBERS)
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize(
    ("read", "role", "rest"),
    [(read_rankings, "score", "order of the rows"), (read_truth, "gain", "every row")],
)
def test_numbers_of_an_unknown_name_are_never_passed_over(read, role, rest, hold, values, tmp_path):
    data = hold(frame(user=[1, 1], item=[2, 3], title=["a", "b"], clicks=values), tmp_path)

    with pytest.raises(ColumnError) as caught:
        read(data)
    for word in ("numbers in 'clicks'", f"columns={{'{role}': 'clicks'}}", rest, "drop it"):
        assert word in str(caught.value)


YES_AND_NO = ["yes No", "Y N", "T F", "true false", "positive negative", "pos neg", "on off",
              "relevant irrelevant", "Relevant not-relevant", "like dislike"]  # fmt: skip


@pytest.mark.parametrize("words", YES_AND_NO)
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_labels_in_words_are_asked_about_and_read_as_the_message_says(words, hold, tmp_path):
    data = frame(user=[1, 1], item=[2, 3], title=["a", "b"], liked=words.split())
    given = hold(data, tmp_path)
    with pytest.raises(ColumnError, match=r"in 'liked'.* columns={'gain': 'liked'}") as caught:
        read_truth(given)
    assert "If every row is a relevant item, drop it" in str(caught.value)
    assert read_truth(given, columns={"gain": "liked"}).frame["gain"].to_list() == [1.0, 0.0]
    assert read_truth(hold(data.rename({"liked": "label"}), tmp_path)).gains.tolist() == [1.0, 0.0]
    if hold in (HOLDERS["polars"], HOLDERS["pandas"]):
        as_types = data.with_columns(liked=pl.col("liked").cast(pl.Categorical))
        as_types = hold(as_types, tmp_path)
        assert read_truth(as_types, columns={"gain": "liked"}).gains.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("words", ["1★ 5★", "★ ★★★★★", "1-star 5-stars", "good bad", "high medium"])
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_labels_in_other_words_are_refused(words, hold, tmp_path):
    data = hold(frame(user=[1, 1], item=[2, 3], title=["a", "b"], x=words.split()), tmp_path)
    with pytest.raises(ColumnError, match=r"in 'x'.* columns={'gain': 'x'}"):
        read_truth(data)
    with pytest.raises(InvalidValueError, match=r"not a number.*or all to words: yes, no"):
        read_truth(data, columns={"gain": "x"})


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_two_words_of_the_only_further_column_are_asked_about(hold, tmp_path):
    data = frame(user=[1, 1, 1], item=[2, 3, 4], found=["hit", "miss", "hit"])
    with pytest.raises(ColumnError, match="labels in 'found'"):
        read_truth(hold(data, tmp_path))
    with_titles = data.with_columns(title=pl.Series([*"abc"]), channel=pl.Series([*"aba"]))
    with pytest.raises(ColumnError, match="labels in 'found'"):
        read_truth(hold(with_titles, tmp_path))
    others = [
        data.with_columns(found=pl.Series([*"abc"])),
        data.with_columns(found=pl.Series([*"aaa"])),
        data.with_columns(other=pl.Series([*"aba"])),
        data.rename({"found": "channel"}),
        data.rename({"found": "itemCategory"}),
        data.rename({"found": "frame_color".replace("or", "our")}),
    ]
    for other in others:
        assert read_truth(hold(other, tmp_path)).counts["assumed_gains"] == 3
    assert read_rankings(hold(data, tmp_path)).order == "list"


def test_labels_in_lists_are_asked_about():
    lists = [{"user": 1, "items": [2, 3], "liked": ["yes", "no"]}]
    for data in (lists, pl.DataFrame(lists)):
        with pytest.raises(ColumnError, match="labels in 'liked'"):
            read_truth(data)
        assert read_truth(data, columns={"gain": "liked"}).gains.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("read", [read_rankings, read_truth])
def test_half_a_surrogate_pair_in_an_unused_column_is_read(read):
    texts = pd.Series(["a", "\ud800b"], dtype=object)
    assert read(pd.DataFrame({"user": [1, 1], "item": [2, 3], "title": texts})).height == 2


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_what_the_message_says_to_write_is_read(hold, tmp_path):
    data = frame(user=[1, 1], item=[2, 3], clicked=[False, True], place=[2, 1], points=[0.5, 0.7])
    data = hold(data, tmp_path)

    assert read_truth(data, columns={"gain": "clicked"}).frame["gain"].to_list() == [0.0, 1.0]
    assert read_rankings(data, columns={"score": "points"}).order == "score"
    assert read_rankings(data, columns={"rank": "place"}).order == "rank"


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_names_ids_and_times_are_neither_score_nor_gain(hold, tmp_path):
    data = frame(
        user=[1, 1],
        item=[2, 3],
        title=["7", "b"],
        nothing=pl.Series([None, None], dtype=pl.Float64),
        timestamp=[10, 20],
        created_at=[10, 20],
        event_time=[10, 20],
        shop_id=[7, 8],
    )
    data = hold(data, tmp_path)

    assert read_rankings(data).order == "list"
    assert read_truth(data).counts["assumed_gains"] == 2


def test_the_index_that_pandas_writes_is_no_score(tmp_path):
    path = tmp_path / "data.csv"
    pd.DataFrame({"user": [1, 1], "item": [2, 3]}).to_csv(path)

    assert read_rankings(path).order == "list"
    assert read_rankings(pd.read_csv(path)).order == "list"
    assert read_truth(path).counts["assumed_gains"] == 2


def test_several_unknown_numbers_are_all_named():
    data = frame(user=[1], item=[2], distance=[0.1], position=[1])

    with pytest.raises(ColumnError, match=r"'distance', 'position'.* drop them") as caught:
        read_rankings(data)
    assert "columns={'rank': 'distance'} (1 comes first)" in str(caught.value)


def test_a_truth_in_the_place_of_the_rankings_is_suspected():
    with pytest.raises(ColumnError, match="the two arguments are swapped"):
        read_rankings(frame(user=[1], item=[2], relevance=[1]))
    with pytest.raises(ColumnError, match="'rank' looks like rankings: are the two arguments swap"):
        read_truth(frame(user=[1], item=[2], rank=[1]))


def test_numbers_beside_a_known_score_or_gain_are_not_looked_at():
    data = frame(user=[1], item=[2], rating=[3.0], price=[9.5], clicked=[True])

    assert read_rankings(data).order == "score"
    assert read_truth(data).frame["gain"].to_list() == [3.0]


def test_an_explicit_column_wins_over_the_synonyms():
    data = frame(user=[1], item=[2], person=[3], thing=[4], score=[5], value=[6])
    table = read_rankings(data, columns={"user": "person", "item": "thing", "score": "value"})

    assert table.frame.rows() == [(3, 4, 6.0)]


def test_an_explicit_column_is_not_taken_for_another_role():
    """If `rating` is named as the score, `relevance` stays unused."""
    data = frame(user=[1], topic=["x"], item=[2])
    assert read_rankings(data, columns={"user": "topic"}).frame.rows() == [("x", 2)]
    assert read_rankings(data, columns={"item": "topic", "user": "user"}).frame.rows() == [(1, "x")]


def test_roles_of_the_other_side_are_allowed_because_one_mapping_serves_both():
    columns = {"user": "u", "gain": "points", "score": "s"}
    rankings, truth = frame(u=[1], item=[2], s=[3]), frame(u=[1], item=[2], points=[4])

    assert read_rankings(rankings, columns=columns).frame.rows() == [(1, 2, 3.0)]
    assert read_truth(truth, columns=columns).frame.rows() == [(1, 2, 4.0)]
    with pytest.raises(ColumnError, match=r"names a column, and dict has none"):
        read_truth({1: [2]}, columns=columns)


def test_ranks_decide_over_scores_unless_the_score_is_named():
    data = frame(user=[1, 1], item=[2, 3], rank=[2, 1], score=[0.9, 0.1])
    by_rank = read_rankings(data)

    assert by_rank.order == "rank"
    assert by_rank.frame["rank"].to_list() == [2.0, 1.0]
    assert by_rank.counts == {"rows": 2, "scores_beside_ranks": 2, "scores_against_ranks": 1}
    assert read_rankings(data, columns={"score": "score"}).order == "score"
    assert read_rankings(data, columns={"score": "score"}).counts == {"rows": 2}
    assert read_rankings(data, columns={"rank": "rank"}).order == "rank"
    assert read_rankings(data, columns={"rank": "rank", "score": "score"}).order == "rank"


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [1, 0, 2, 4, 3]])
@pytest.mark.parametrize("as_list", [False, True])
def test_scores_against_the_ranks_are_counted_for_any_order_of_the_rows(order, as_list):
    """User 1 has two scores that rise with a worse rank; equal ranks and NaN do not conflict."""
    data = frame(
        user=[1, 1, 1, 2, 2], item=[*"abcab"], rank=[1, 2, 3, 1, 1], score=[0.1, 0.2, 0.3, 5, 6]
    )[order]
    rows = data.to_dict(as_series=False) if as_list else data
    assert read_rankings(rows).counts["scores_against_ranks"] == 2
    falling = data.with_columns(score=-pl.col("rank"))
    assert "scores_against_ranks" not in read_rankings(falling).counts
    for unused in (pl.lit(float("nan")), pl.lit("x"), pl.lit(None)):
        assert "scores_against_ranks" not in read_rankings(data.with_columns(score=unused)).counts


@pytest.mark.parametrize(
    ("columns", "role", "candidates"),
    [
        (["user_id", "uid", "item"], "user", ["'user_id', 'uid'"]),
        (["user", "docid", "docno"], "item", ["'docid', 'docno'"]),
        (["user", "item", "rating", "prediction"], "score", ["'rating', 'prediction'"]),
        (["user", "item", "rank", "Rank"], "rank", ["'rank', 'Rank'"]),
    ],
)
def test_two_candidates_for_a_role_are_an_error_that_shows_what_to_write(columns, role, candidates):
    with pytest.raises(ColumnError) as caught:
        read_rankings(pl.DataFrame({name: [1] for name in columns}))
    for word in [f"could be the {role}", *candidates, f"columns={{'{role}': "]:
        assert word in str(caught.value)


def test_two_candidates_for_the_gain_are_an_error():
    with pytest.raises(ColumnError, match="could be the gain: 'rating', 'relevance'"):
        read_truth(frame(user=[1], item=[2], rating=[3], relevance=[4]))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (frame(usr=[1], item=[2]), ["no column for the user", "'usr', 'item'", "columns={'user'"]),
        (frame(user=[1], thing=[2]), ["no column for the item", "'user', 'thing'"]),
        (pl.DataFrame(), ["no column for the user", "It has no columns"]),
        (pd.DataFrame([[1, 2]]), ["no column for the user", "'0', '1'"]),
        (
            pd.DataFrame({"user_id": [1], "item": [2]}).set_index("user_id"),
            ["no column for the user", "'user_id' is in the index", ".reset_index()"],
        ),
    ],
)
def test_a_missing_column_is_named_beside_those_that_are_there(data, words):
    for read in (read_rankings, read_truth):
        with pytest.raises(ColumnError) as caught:
            read(data)
        for word in words:
            assert word in str(caught.value)


def test_a_column_that_does_not_exist_brings_near_matches():
    with pytest.raises(ColumnError, match=r"'costumer'.*did you mean 'customer'\?"):
        read_rankings(frame(customer=[1], item=[2]), columns={"user": "costumer"})


def test_an_unknown_role_brings_near_matches():
    with pytest.raises(UsageError, match=r"unknown role 'users'.*did you mean 'user'"):
        read_rankings(frame(user=[1], item=[2]), columns={"users": "user"})


def test_columns_must_be_a_mapping():
    with pytest.raises(UsageError, match=r"`columns` must be a mapping .*got \['user'\]"):
        read_rankings(frame(user=[1], item=[2]), columns=["user"])


def test_columns_of_the_same_name_are_ambiguous():
    data = pd.DataFrame([[1, 2, 3]], columns=["user", "user", "item"])
    with pytest.raises(ColumnError, match="'user', 'user'"):
        read_rankings(data)
    with pytest.raises(ColumnError, match="names 2 columns"):
        read_rankings(data, columns={"user": "user"})


def test_names_that_are_no_strings_can_be_named():
    assert read_rankings(pd.DataFrame([[1, 2]]), columns={"user": 0, "item": 1}).frame.rows() == [
        (1, 2)
    ]


def test_one_column_has_one_role():
    with pytest.raises(UsageError, match="names one column for two roles"):
        read_rankings(frame(user=[1], item=[2]), columns={"user": "user", "item": "user"})


@pytest.mark.parametrize(
    ("names", "twice"), [(["user", "customer", "item"], "user"), (["uid", "iid", "x", "x"], "x")]
)
def test_interactions_never_have_two_columns_of_one_name(names, twice):
    data = pd.DataFrame([list(range(len(names)))], columns=names)
    columns = {"user": "customer"} if "customer" in names else None
    with pytest.raises(ColumnError, match=f"two columns called '{twice}'"):
        read_interactions(data, columns=columns)


def test_names_with_a_meaning_in_polars_are_plain_names():
    data = frame(**{"^user$": [1], "item": [2]})
    columns = {"user": "^user$"}
    assert read_rankings(data, columns=columns).frame.rows() == [(1, 2)]


def test_duckdb_names_are_quoted():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("""SELECT 1 AS "the ""user", 2 AS "select" """)

    table = read_rankings(relation, columns={"user": 'the "user', "item": "select"})
    assert table.frame.rows() == [(1, 2)]


@pytest.mark.parametrize(
    ("side", "text"),
    [
        ("rankings", "user,item,points\n1,a,0.1\n1,b,0.9\n1,c,N/A\n"),
        ("rankings", 'user,item,points\n1,a,"1,000"\n1,b,"2,000"\n1,c,3\n'),
        ("truth", 'user,item,stars\n1,b,0\n1,a,"4,5"\n'),
        ("truth", "user,item,\n1,b,3\n1,a,5\n"),
        ("rankings", "user,item,Unnamed: 0\n1,b,0\n1,a,1\n"),
        ("rankings", ",user,item\n7,1,b\n3,1,a\n"),
        ("truth", [{"user": 1, "item": "a", "stars": 3}, {"user": 1, "item": "b", "stars": "?"},
                   {"user": 1, "item": "c", "stars": 4}]),
    ],
)  # fmt: skip
def test_numbers_without_a_role_are_asked_about_even_if_some_are_written_otherwise(
    side, text, tmp_path
):
    data = text
    if isinstance(text, str):
        data = tmp_path / "data.csv"
        data.write_text(text)
    read = read_rankings if side == "rankings" else read_truth
    with pytest.raises(ColumnError, match="numbers in"):
        read(data)


def test_the_index_of_the_rows_in_front_is_no_number_of_the_items(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(",user,item,title\n0,1,b,1984\n1,1,a,Emma\n2,1,c,Persuasion\n")
    assert read_rankings(path).frame.rows() == [(1, "b"), (1, "a"), (1, "c")]


NUMBERS = {
    "half missing": ["0.1", "0.9", "N/A", "N/A"],
    "per cent": ["10%", "90%"],
    "money": ["$10", "$90"],
    "underscores": ["1_000", "9_000"],
    "fractions": ["1/5", "5/5"],
    "minus sign": ["\u22121.5", "2.5"],
    "narrow spaces": ["1\u202f000", "9\u202f000"],
}


@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_any_spelling_in_a_file_are_asked_about(values, tmp_path):
    rows = [f"1,{place},{value}" for place, value in enumerate(values)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["user,item,points", *rows]))
    with pytest.raises(ColumnError, match="numbers in 'points'"):
        read_rankings(path)


@pytest.mark.parametrize(
    "form", [pl.DataFrame, pd.DataFrame, lambda data: pl.DataFrame(data).to_dicts()]
)
def test_texts_with_decimals_of_a_program_are_asked_about_and_integers_are_ids(form):
    data = {"user": [1, 1], "item": ["a", "b"], "points": ["0.1", "0.9"]}
    with pytest.raises(ColumnError, match="numbers in 'points'"):
        read_rankings(form(data))
    assert read_rankings(form({**data, "points": ["7", "8"]})).order == "list"


@pytest.mark.parametrize("name", ["logit_at", "model_id", "val_time"])
def test_fractions_under_the_name_of_an_id_or_a_time_are_asked_about(name):
    data = {"user": [1, 1], "item": ["a", "b"], name: [0.1, 0.9]}
    with pytest.raises(ColumnError, match=f"numbers in '{name}'"):
        read_rankings(pl.DataFrame(data))
    for values in ([7, 8], [1.7e9, 1.7e9 + 0.5]):
        assert read_rankings(pl.DataFrame({**data, name: values})).order == "list"


@pytest.mark.parametrize("read", [read_rankings, read_truth])
def test_numbers_in_one_of_two_columns_of_a_name_are_not_overlooked(read, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("user,item,x,x\nu,a,7,\nu,b,9,\n")
    with pytest.raises(ColumnError, match="two columns called 'x', and either may hold the"):
        read(path)
    path.write_text("user,item,x,x,score,gain\nu,a,7,,1,1\nu,b,9,,2,1\n")
    assert len(read(path).frame) == 2


@pytest.mark.parametrize("row", [{"user": 5}, {"user": 5, "score": 1.0}, {"qid": "q", "rating": 2}])
def test_a_row_of_a_user_without_an_item_is_not_read_as_items_with_numbers(row, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    for data in (path, [row], row):
        with pytest.raises(
            ColumnError, match=r"no column for the item\. Its columns are '(user|qid)'"
        ):
            read_truth(data)
    assert read_truth({"u": {"user": 5}}).frame.rows() == [("u", "user", 5.0)]


def test_no_name_ends_in_a_digit():
    """`names_for_role` leaves out such names before it looks closer."""
    assert not any(name[-1].isdigit() for names in SYNONYMS.values() for name in names)


def test_the_document_of_pyterrier_is_docno_in_any_order_of_columns():
    frame = pl.DataFrame({"qid": ["q1"], "docno": ["d1"], "score": [0.9], "docid": [7]})
    assert read_rankings(frame).frame["item"].to_list() == ["d1"]


# -- one mapping for all tables of a call -------------------------------------------------------

SHOP = {"user": "member", "item": "code", "time": "bought", "gain": "stars"}
ORDERS = pl.DataFrame({"member": ["a", "b"], "code": ["x", "y"], "stars": [2, 1]})
LISTS = pl.DataFrame({"user": ["a", "b"], "item": ["x", "x"], "score": [0.5, 0.25]})


def test_one_mapping_serves_tables_that_lack_some_of_its_columns():
    wanted = rm.evaluate(LISTS, ORDERS.rename({"member": "user", "code": "item", "stars": "gain"}))
    found = rm.evaluate(LISTS, ORDERS, columns=SHOP)
    assert found.to_dict()["metrics"] == wanted.to_dict()["metrics"]
    note = "columns= names columns that a table lacks: user (member), item (code)"
    assert note in found.plan.notes
    evaluator = rm.Evaluator(ORDERS, columns=SHOP)
    assert evaluator.evaluate(LISTS).to_dict()["metrics"] == wanted.to_dict()["metrics"]
    assert note in evaluator.evaluate(LISTS).plan.notes
    renamed = LISTS.rename({"user": "member", "item": "code"})
    unused = "columns= has roles that this call does not use: time"
    assert rm.evaluate(renamed, ORDERS, columns=SHOP).plan.notes == (unused,)
    assert evaluator.evaluate(renamed).plan.notes == (unused,)  # nothing is left of the call before
    with pytest.raises(ColumnError, match="names a column that"):
        rm.Evaluator(ORDERS, columns=SHOP | {"score": "typo"}).evaluate(LISTS)


@pytest.mark.parametrize(
    ("role", "column"), [("user", "typo"), ("score", "typo"), ("gain", "typo")]
)
def test_a_column_that_no_table_has_is_an_error(role, column):
    truth = LISTS.select("user", "item")
    with pytest.raises(ColumnError, match=f"columns={{'{role}': 'typo'}} names a column that"):
        rm.evaluate(LISTS, truth, "mrr", columns={role: column})
    with pytest.raises(UsageError, match=r"the roles in columns= are .*, not \['nope'\]"):
        rm.evaluate({"a": ["x"]}, {"a": {"x"}}, "mrr", columns={"nope": column})


@pytest.mark.parametrize("users", [[7, 7, 7, 10**15], ["b", "b", "b", "a"], [1, 1, 1, 2]], ids=str)
@pytest.mark.parametrize("n", [1, 5000])
def test_all_rows_are_compared_in_any_order(users, n):
    """Contradictions of the last user are counted among many others, and where ranks have gaps."""
    names = {str: lambda user, i: f"{user}{i}", int: lambda user, i: user + 20 * i}[type(users[0])]
    rows = [
        {"user": names(user, i), "item": item, "rank": rank, "score": score}
        for i in range(n)
        for user, item, rank, score in zip(
            users, "abca", (1, 2, 9, 1), (1, 3, 2, 1) if i == n - 1 else (3, 2, 1, 1), strict=True
        )
    ]
    data = pl.DataFrame(rows)
    for mixed in (data, data.sample(fraction=1, shuffle=True, seed=1), data.sort("item")):
        assert read_rankings(mixed).counts["scores_against_ranks"] == 1


def test_ranks_of_a_frame_of_pyterrier_are_compared_with_its_scores():
    """There the score decides, and ranks start at 0."""
    data = frame(qid=["1", "1", "2"], docno=["a", "b", "a"], score=[1.0, 2.0, 1.0], rank=[0, 1, 0])
    assert read_rankings(data).order == "score"
    assert read_rankings(data).counts == {"rows": 3, "ranks_against_scores": 1}
    agreeing = data.with_columns(rank=pl.Series([1, 0, 0]))
    assert read_rankings(agreeing).counts == {"rows": 3}


LOG = pl.DataFrame(
    {
        "user_id": [1, 1, 1, 2, 2],
        "session_id": [5, 5, 6, 7, 7],
        "item_id": [*"abbac"],
        "price": [1.5, 2.5, 2.5, 1.5, 3.5],
        "event": ["view", "view", "purchase", "view", "cart"],
    }
)


@pytest.mark.parametrize("kinds", [2, 3, 4])
@pytest.mark.parametrize("name", ["event", "event_type", "behavior", "kind"])
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_kinds_of_events_are_asked_about_however_many_there_are(hold, name, kinds, tmp_path):
    words = ["view", "purchase", "cart", "like"][:kinds] * 2
    data = frame(user=[1] * len(words), item=[*range(len(words))], x=words, other=[*"ab"] * kinds)
    data = hold(data.rename({"x": name}), tmp_path)
    with pytest.raises(ColumnError, match=rf"labels in '{name}' \(.*relevant='purchase'"):
        read_truth(data)
    assert read_truth(data, columns={"gain": None}).counts["assumed_gains"] == 2 * kinds
    assert read_truth(data, relevant="any").counts["assumed_gains"] == 2 * kinds
    assert read_truth(data, relevant="purchase").gains.sum() == 2


def test_a_log_is_read_in_each_way_that_the_message_names():
    ranked = {1: ["a", "b"], 2: ["c", "a"]}
    with pytest.raises(ColumnError, match="labels in 'event'"):
        rm.evaluate(ranked, LOG, "rr")
    assert rm.evaluate(ranked, LOG.drop("event"), "recall@1")["recall@1"].mean == 0.5
    with pytest.raises(InvalidValueError, match="say which word is relevant: relevant='view'"):
        rm.evaluate(ranked, LOG, "rr", columns={"gain": "event"})
    for said in ({"columns": {"gain": None}}, {"relevant": "any"}):
        assert rm.evaluate(ranked, LOG, "recall@1", **said)["recall@1"].mean == 0.5
    for said in ({}, {"columns": {"gain": "event"}}):
        result = rm.evaluate(ranked, LOG, "rr", relevant="purchase", **said)
        assert result["rr"].mean == 0.5
        assert "relevant: the rows of polars DataFrame with event purchase" in result.notes
    assert rm.Evaluator(LOG, "rr", relevant="purchase").evaluate(ranked)["rr"].mean == 0.5


def test_words_that_no_row_has_are_no_relevance():
    ranked, none = {1: ["a", "b"]}, "must be like '>0', '>=4' or 'any'"
    with pytest.raises(UsageError, match=rf"{none}.*'event' has 'view', 'cart', 'purchase'"):
        rm.evaluate(ranked, LOG, "rr", relevant="purchas")
    for truth in ({1: ["a"]}, LOG.drop("event"), LOG.head(0)):
        with pytest.raises(UsageError, match=none):
            rm.evaluate(ranked, truth, "rr", relevant="purchase")
    twice = LOG.with_columns(last=pl.col("event"))
    with pytest.raises(UsageError, match="it is in 'event', 'last': name one"):
        rm.evaluate(ranked, twice, "rr", relevant="purchase")


def test_gains_of_a_form_without_names_are_left_out_too():
    truth = {1: {"a": 3, "b": 0}}
    assert read_truth(truth, columns={"gain": None}).gains.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["split", "split_index", "Fold", "subset", "set"])
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_a_truth_of_several_parts_of_a_split_is_asked_about(hold, name, tmp_path):
    parts = ["train", "test", "train"] if name == "set" else [0, 1, 0]
    data = frame(user=[1, 1, 1], item=[2, 3, 4], rating=[5, 4, 3], x=parts).rename({"x": name})
    with pytest.raises(ColumnError, match=rf"several parts of a split: .* in '{name}'"):
        read_truth(hold(data, tmp_path))
    assert read_truth(hold(data, tmp_path), columns={"gain": "rating"}).height == 3
    one = data.filter(pl.col(name) == parts[1])
    assert read_truth(hold(one, tmp_path)).gains.tolist() == [4]


def test_sets_that_are_no_parts_are_not_asked_about():
    data = frame(user=[1, 1, 1], item=[2, 3, 4], rating=[5, 4, 3], set=["castle", "car", "car"])
    assert read_truth(data).height == 3


@pytest.mark.parametrize(
    ("names", "user"),
    [
        ("user_id session_id", "user_id"),
        ("session_id customer_id", "customer_id"),
        ("impression_id user", "user"),
        ("session_id", "session_id"),
        ("request_id", "request_id"),
        ("question_id topic", "question_id"),
        ("회원번호", "회원번호"),
    ],
)
def test_a_session_is_a_user_only_where_no_other_name_is(names, user):
    data = pl.DataFrame({name: [name] for name in names.split()} | {"상품코드": [1], "순위": [1]})
    assert read_rankings(data).users.to_list() == [user]


def test_names_in_korean_are_known():
    ranked = pl.DataFrame({"사용자 ID": [1, 1], "아이템": [*"ab"], "예측 점수": [1.0, 2.0]})
    judged = pl.DataFrame({"회원 번호": [1, 1], "상품": [*"ab"], "평점": [0, 4], "일시": [1, 2]})
    assert rm.evaluate(ranked, judged, "rr")["rr"].mean == 1


@pytest.mark.parametrize(
    ("score", "label"),
    [("predictions", "target_binary"), ("y_pred", "y_true"), ("rerankScore", "isClicked_label")],
)
def test_no_hint_names_a_label_as_the_score_and_one_frame_is_passed_twice(score, label):
    data = pl.DataFrame({"user": [1, 1], "item": [*"ab"], label: [0, 1], score: [0.2, 0.7]})
    with pytest.raises(ColumnError) as caught:
        rm.evaluate(data, data, "rr")
    message = str(caught.value)
    assert f"columns={{'score': '{score}'}}" in message
    assert f"'{label}'}} (" not in message
    assert f"columns={{'score': '{score}', 'gain': '{label}'}})" in message
    result = rm.evaluate(data, data, "rr", columns={"score": score, "gain": label})
    assert result["rr"].mean == 1
    with pytest.raises(ColumnError, match=rf"columns={{'gain': '{label}'}}"):
        read_truth(data)


def test_a_label_alone_is_no_score():
    data = pl.DataFrame({"user": [1, 1], "item": [*"ab"], "target_binary": [0, 1]})
    with pytest.raises(ColumnError, match="looks like the truth: labels do not order") as caught:
        read_rankings(data)
    assert "'score': 'target_binary'" not in str(caught.value)


def test_of_two_scores_the_hint_names_the_predicted_one():
    data = pl.DataFrame({"user": [1], "item": [1], "rating": [3], "prediction": [0.5]})
    with pytest.raises(ColumnError, match=r"'rating', 'prediction'.*{'score': 'prediction'}"):
        read_rankings(data)


def test_sides_without_a_common_id_are_called_rankings_and_truth():
    with pytest.raises(NoOverlapError) as caught:
        rm.evaluate({"u": ["7.0", "8.0"]}, {"u": ["7", "8"]}, "rr")
    assert "the rankings (dict) have '7.0', '8.0'" in str(caught.value)
    assert "the truth (dict) has '7', '8'" in str(caught.value)
    assert "collapse" not in str(caught.value)
    with pytest.raises(NoOverlapError, match=r"collapse='before:\.'"):
        rm.evaluate({"u": ["a.1", "b.2"]}, {"u": ["a", "b"]}, "rr")
