"""A file that is read never makes rankmeter read another file, nor a variable of the caller."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import pickle
import re
import subprocess
import sys
import traceback
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter.errors import DataError, RankmeterError

duckdb = pytest.importorskip("duckdb")

pytestmark = pytest.mark.once

SECRET = "canary-4711"
NAME = "name-of-a-file-0815"
"""The name of a file that no view mentions."""

hidden_rows = pl.DataFrame({"item": [SECRET]})
"""A variable that DuckDB finds by its name."""


def make_canaries(folder):
    """Files of all formats that hold the secret, by format."""
    rows = pl.DataFrame({"user": [1], "item": [SECRET], "score": [1.0]})
    paths = {kind: folder / f"secret.{kind}" for kind in ("txt", "csv", "json", "ndjson")}
    paths["txt"].write_text(SECRET)
    rows.write_csv(paths["csv"])
    paths["json"].write_text(json.dumps(rows.to_dicts()))
    rows.write_ndjson(paths["ndjson"])
    paths["parquet"] = folder / "secret.parquet"
    rows.rename({"item": SECRET}).write_parquet(paths["parquet"])  # metadata have names, too
    paths["duckdb"] = folder / "secret.duckdb"
    with duckdb.connect(str(paths["duckdb"])) as other:
        other.execute(f"CREATE TABLE {SECRET.replace('-', '_')} AS SELECT '{SECRET}' AS item")
    (folder / NAME).write_text("")
    return paths


def literal(text):
    return "'" + str(text).replace("'", "''") + "'"


def make_views(connection, folder, paths):
    """A view for each table function and kind of argument that DuckDB accepts: name → query."""
    functions = [
        name
        for (name,) in connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() "
            "WHERE function_type IN ('table', 'table_macro', 'pragma') ORDER BY 1"
        ).fetchall()
    ]
    targets = [literal(path) for path in (*paths.values(), folder / "*")]
    inner = f"SELECT content FROM read_text({literal(paths['txt'])})"
    forms = ["", *targets, *(f"[{target}]" for target in targets), f"{literal(inner)}"]
    forms += [f"{literal(paths['parquet'])}, 'user'", f"{literal(paths['parquet'])}, 'user', 1"]
    calls = [f"{name}({form})" for name, form in itertools.product(functions, forms)]
    calls += targets  # FROM 'file.csv'
    calls += ["hidden_rows", "leak()", f"({inner})"]
    calls += [f"json_execute_serialized_sql(json_serialize_sql({literal(inner)}))"]
    connection.execute(f"CREATE MACRO leak() AS TABLE {inner}")
    views = {}
    for n, call in enumerate(calls):
        query = f'SELECT 1 AS "user", s::VARCHAR AS item, 1.0 AS score FROM {call} AS s'
        try:
            connection.execute(f"CREATE VIEW v{n} AS {query}")
        except duckdb.Error:
            continue
        views[f"v{n}"] = call
    return views


def outcome(call):
    """Everything that a call shows: the result in all forms, or the error with its causes."""
    try:
        result = call()
    except RankmeterError as error:
        return error, "".join(traceback.format_exception(error))
    texts = [str(result), result.to_json(), str(result.per_user), str(result.show(1))]
    return result, "\n".join(texts)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    paths = make_canaries(folder)
    path = folder / "rankings.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS \"user\", 'a' AS item, 1.0 AS score")
        connection.execute("CREATE VIEW good AS SELECT * FROM t")
        views = make_views(connection, folder, paths)
        leaking = set()
        for name in views:
            try:
                rows = connection.table(name).fetchall()
            except duckdb.Error:
                continue
            if SECRET in str(rows) or NAME in str(rows):
                leaking.add(name)
    return path, views, leaking


def test_the_views_would_read_other_files(database):
    _, views, leaking = database
    functions = {re.split(r"\W", views[name])[0] for name in leaking}
    assert {"read_text", "read_blob", "read_csv", "glob", "sniff_csv", "parquet_scan"} <= functions
    assert {"hidden_rows", "leak"} <= functions
    assert len(functions) > 15


def test_no_view_of_a_file_reads_anything_else(database, tmp_path, monkeypatch):
    path, views, leaking = database
    monkeypatch.chdir(tmp_path)
    for name, call in views.items():
        result, text = outcome(
            lambda name=name: rm.evaluate(f"{path}#{name}", {1: ["x"]}, "mrr", no_overlap="allow")
        )
        assert SECRET not in text.replace(call, ""), call
        assert NAME not in text, call
        if name in leaking:
            assert isinstance(result, DataError), call
            assert f"cannot read the view '{name}'" in str(result), call
            assert "connection.table(" in str(result), call
    assert not [*tmp_path.iterdir()]  # nothing was written


def test_tables_and_views_of_tables_are_read(database):
    path = database[0]
    for name in ("t", "good"):
        assert rm.evaluate(f"{path}#{name}", {1: ["a"]}, "mrr")["mrr"].mean == 1.0


def test_relations_and_connections_of_the_user_are_the_users(tmp_path):
    make_canaries(tmp_path)
    secret = literal(tmp_path / "secret.txt")
    query = f'SELECT 1 AS "user", content AS item FROM read_text({secret})'
    with duckdb.connect() as connection:
        for run in (connection.sql, connection.execute):
            assert rm.evaluate(run(query), {1: [SECRET]}, "mrr")["mrr"].mean == 1.0


class Opens:
    """What opens a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path,))


def references(folder):
    """Files of other formats that refer to the secret."""
    secret = folder / "secret.txt"
    rows = pl.DataFrame({"user": ["1"], "item": [f"file://{secret}"], "score": [1.0]})
    files = {}

    def path(name):
        files[name] = folder / name
        return files[name]

    rows.write_csv(path("a.csv"))
    path("formula.csv").write_text(f'user,item,score\n1,=WEBSERVICE("{secret}"),1\n')
    path("include.csv").write_text(f"@{secret}\n")
    path("a.json").write_text(json.dumps({"$ref": f"file://{secret}"}))
    path("b.json").write_text(json.dumps({"1": {f"file://{secret}": 1.0}}))
    path("a.jsonl").write_text(json.dumps({"user": "1", "items": [{"$ref": str(secret)}]}) + "\n")
    rows.write_parquet(path("a.parquet"))
    path("run.trec").write_text(f"1 Q0 {secret} 1 1.0 t\n")
    np.save(path("a.npy"), np.array([Opens(secret)], dtype=object), allow_pickle=True)
    np.savez(path("a.npz"), user=np.array([1]), item=np.array([Opens(secret)], dtype=object))
    path("a.pkl").write_bytes(pickle.dumps(Opens(secret)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../secret.txt", "user,item\n1,a\n")
        link = zipfile.ZipInfo("link.csv")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, str(secret))
    path("a.zip").write_bytes(packed.getvalue())
    path("pickle.csv.gz").write_bytes(gzip.compress(pickle.dumps(Opens(secret))))
    path("b.csv.gz").write_bytes(gzip.compress(f"user,item\n1,{secret}\n".encode()))
    return files


WATCH = """
import sys
opened = []
def hook(event, args):
    if event in ("open", "socket.connect", "os.system", "subprocess.Popen", "pickle.find_class"):
        opened.append((event, str(args[0])))
sys.addaudithook(hook)
import rankmeter as rm
secret, *files = sys.argv[1:]
for file in files:
    for arguments in ((file, {"1": ["x"]}), ({"1": ["x"]}, file)):
        try:
            result = rm.evaluate(*arguments, "mrr", no_overlap="allow")
            print(file, result, result.per_user)
        except rm.errors.RankmeterError as error:
            print(file, error)
wrong = [what for what in opened if what[0] != "open" or secret in what[1]]
print("WRONG", wrong)
"""


def test_other_formats_do_not_follow_references(tmp_path):
    make_canaries(tmp_path)
    files = references(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-c", WATCH, str(tmp_path / "secret.txt"), *map(str, files.values())],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert ran.stdout.rstrip().endswith("WRONG []")
    assert SECRET not in ran.stdout + ran.stderr
    assert len(re.findall(r"^/", ran.stdout, re.MULTILINE)) >= 2 * len(files)
    assert not (Path(tmp_path).parent / "secret.txt").exists()
