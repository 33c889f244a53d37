"""Results in experiment trackers: real trackers, without network."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import cases
import rankmeter as rm
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

PAGE = (Path(__file__).parents[2] / "docs/guide/trackers.md").read_text("utf-8")
RANKINGS, TRUTH = cases.batch(0)
RESULT = rm.evaluate(RANKINGS, TRUTH, "ndcg@10 map@5")
EXPECTED = {
    f"{stem}{end}": value
    for stem, e in (("ndcg_at_10", RESULT["ndcg@10"]), ("map_at_5", RESULT["map@5"]))
    for end, value in (("", e.mean), ("_low", e.low), ("_high", e.high), ("_n", e.n))
}
FOUND = rm.compare(
    {"BPR": RANKINGS, "item kNN": cases.batch(1)[0]}, TRUTH, "ndcg@10", baseline="BPR", test="t"
)


class Writer:
    """Like the SummaryWriter of TensorBoard, without its framework."""

    def __init__(self):
        self.written = []

    def add_scalar(self, tag, scalar_value, global_step=None):
        self.written.append((tag, scalar_value, global_step))


class TestNames:
    def test_what_does_not_exist_is_not_logged(self):
        taken = {}
        rm.evaluate([["a"]], [{"a"}], "rr").log(taken.__setitem__)
        assert taken == {"rr": 1.0, "rr_n": 1.0}


class TestWhoTakesIt:
    def test_any_callable(self):
        taken = {}
        RESULT.log(taken.__setitem__)
        assert taken == EXPECTED

    def test_a_callable_with_steps(self):
        taken = []
        RESULT.log(lambda *given, step: taken.append((*given, step)), prefix="test", step=3)
        assert taken == [(f"test_{name}", value, 3) for name, value in EXPECTED.items()]

    def test_a_summary_writer(self):
        writer = Writer()
        RESULT.log(writer, step=7)
        assert writer.written == [(name, value, 7) for name, value in EXPECTED.items()]

    def test_a_comparison_tells_means_and_differences(self):
        taken = {}
        FOUND.log(taken.__setitem__, prefix="run")
        d = FOUND["ndcg@10"][0]
        stem = "run_item_kNN_vs_BPR_ndcg_at_10"
        assert taken[f"{stem}_difference"] == d.difference
        assert (taken[f"{stem}_low"], taken[f"{stem}_high"]) == (d.low, d.high)
        assert (taken[f"{stem}_p"], taken[f"{stem}_n"]) == (d.p_adjusted, d.n)
        assert taken["run_BPR_ndcg_at_10"] == FOUND.estimates["ndcg@10", "BPR"].mean
        assert all(re.fullmatch("[_a-zA-Z][_a-zA-Z0-9]*", name) for name in taken)

    @pytest.mark.parametrize("wrong", [None, 7, "mlflow", {}, []])
    def test_nothing_else(self, wrong):
        with pytest.raises(UsageError, match=type(wrong).__name__):
            RESULT.log(wrong)

    def test_run_id_is_for_clients_alone(self):
        with pytest.raises(UsageError, match="run_id"):
            RESULT.log(print, run_id="1")

    def test_large_results_go_in_batches(self):
        class Logger:
            sizes = []

            def log_metrics(self, metrics):
                self.sizes.append(len(metrics))

        logger = Logger()
        systems = {f"s{number}": RANKINGS for number in range(24)}
        rm.compare(systems, TRUTH, "rr", test="t").log(logger)
        assert sum(logger.sizes) == 24 * 4 + 276 * 5
        assert max(logger.sizes) == 1000  # what MLflow takes at once


def shown(heading):
    """The code under a heading of the page, which runs as it is."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"(?ms)^```python\n(.*?)^```", section)[-1]


def run(code, folder, **environment):
    """Run a separate program, because trackers keep global state."""
    head = """
        import sys; sys.path[:0] = {tests!r}
        from test_track import FOUND as found, RESULT as result
        from test_track import EXPECTED, RESULT, shown
    """
    program = textwrap.dedent(head).format(tests=[str(path) for path in Path(__file__).parents[:2]])
    done = subprocess.run(
        [sys.executable, "-c", program + textwrap.dedent(code)],
        cwd=folder, env={"PATH": "", "HOME": str(folder), **environment},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_mlflow_by_module_and_by_client(tmp_path):
    run(
        """
        import mlflow
        mlflow.set_tracking_uri("sqlite:///runs.db")
        exec(shown("MLflow"))
        active = mlflow.last_active_run()
        client = mlflow.MlflowClient()
        assert {one.path for one in client.list_artifacts(active.info.run_id)} == {
            "report.html", "result.json"
        }
        other = client.create_run(active.info.experiment_id).info.run_id
        RESULT.log(client, run_id=other, step=2)
        for run_id in (active.info.run_id, other):
            assert client.get_run(run_id).data.metrics == EXPECTED
        assert client.get_metric_history(other, "ndcg_at_10")[0].step == 2
        try:
            RESULT.log(client)
        except ValueError as error:
            assert "run_id" in str(error)
        else:
            raise AssertionError("a client without a run")
        """,
        tmp_path,
    )


def test_weights_and_biases_offline(tmp_path):
    run(
        """
        exec(shown("Weights & Biases") + "    logged = dict(run.summary)")
        assert {name: logged[name] for name in EXPECTED} == EXPECTED, str(logged)
        """,
        tmp_path,
        WANDB_SILENT="true",
        WANDB_MODE="offline",
    )


def test_tensorboard_event_files(tmp_path):
    run(
        """
        import types
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        class SummaryWriter:
            def __init__(self, folder):
                self.file = EventFileWriter(folder)

            def add_scalar(self, tag, scalar_value, global_step=None):
                value = Summary.Value(tag=tag, simple_value=scalar_value)
                self.file.add_event(Event(step=global_step or 0, summary=Summary(value=[value])))

            def add_text(self, tag, text_string):
                assert "ndcg@10" in text_string

        sys.modules["torch.utils.tensorboard"] = types.SimpleNamespace(SummaryWriter=SummaryWriter)
        exec(shown("TensorBoard"))
        writer.file.close()
        events = EventAccumulator("runs/films").Reload()
        assert set(events.Tags()["scalars"]) == set(EXPECTED)
        for name, value in EXPECTED.items():
            (event,) = events.Scalars(name)
            assert event.step == 5 and abs(event.value - value) < 1e-6 * max(1, value)
        """,
        tmp_path,
    )
