"""A forked child answers, or says at once what to do; it never waits for threads that are gone."""

import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]

SETUP = """
import faulthandler, os, sys, tempfile
import numpy as np
import polars as pl
import rankmeter as rm

LISTS = {1: ["a", "b"], 2: ["b", "a"], 3: ["c", "a"]}
TRUTH = {1: ["a"], 2: ["a"], 3: ["a"]}
FRAME = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "score": [2.0, 1.0, 1.0]})
SCORES = np.eye(3)[:, ::-1]

def result():
    return rm.evaluate(LISTS, TRUTH, "mrr ndcg@10")

def accumulated():
    accumulator = rm.accumulator("mrr")
    accumulator.update(scores=SCORES, target=[0, 1, 2])
    return accumulator.compute()

def answer(task):
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return status
    faulthandler.dump_traceback_later(60, exit=True)
    try:
        task()
        code = 0
    except rm.errors.UsageError as error:
        code = 7 if "spawn" in str(error) else 1
    except BaseException:
        code = 1
    os._exit(code)
"""
WORK = {
    "dictionaries": "result",
    "printed": "lambda: (repr(result()), result().to_json(), result().to_latex())",
    "scores": "lambda: rm.evaluate_scores(SCORES, [0, 1, 2], 'mrr')",
    "ranks": "lambda: rm.evaluate_ranks([1, 2], 'mrr')",
    "accumulator": "accumulated",
    "comparison": "lambda: rm.compare({'a': LISTS, 'b': TRUTH}, TRUTH, 'mrr')",
    "curve": "lambda: rm.curve(LISTS, TRUTH, 'recall', 2)",
}
REFUSED = {
    "frame": "lambda: rm.evaluate(FRAME, TRUTH, 'mrr')",
    "values by user": "lambda: result().per_user",
    "shown": "lambda: result().show(1)",
    "segments": "lambda: result().by_segment({1: 'x', 2: 'y', 3: 'x'})",
    "clusters": "lambda: rm.evaluate(LISTS, TRUTH, 'mrr', clusters={1: 1, 2: 1, 3: 2})",
    "report": "lambda: result().report(tempfile.mktemp('.html'))",
    "CSV": "lambda: result().to_csv()",
    "train": "lambda: rm.evaluate(LISTS, TRUTH, 'novelty@2', train=LISTS)",
    "description": "lambda: rm.describe(FRAME)",
    "values": "lambda: rm.compare_values({'a': [1.0, 2], 'b': [2.0, 3]})",
}


def answers(tasks, parent):
    lines = [f"print({name!r}, answer({task}), sep='\\t', flush=True)" for name, task in tasks]
    code = "\n".join([SETUP, parent, *lines])
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return {name: int(status) for name, status in (x.split("\t") for x in ran.stdout.splitlines())}


def test_a_child_of_a_process_that_used_polars_answers_or_refuses():
    parent = "\n".join(["FRAME.sort('item')", *(f"({task})()" for task in WORK.values())])
    statuses = answers([*WORK.items(), *REFUSED.items()], parent)
    assert statuses == dict.fromkeys(WORK, 0) | dict.fromkeys(REFUSED, 7 << 8)
