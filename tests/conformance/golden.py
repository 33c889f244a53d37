"""Run one recording script inside its tool's environment and write what the tool answered.

``python golden.py TOOL SCRIPT OUTPUT`` loads ``record/SCRIPT.py``, which offers ``VERSION`` (the
version that really runs), ``PACKAGES`` (others whose version may matter), ``inputs`` (the module
with its cases) and ``record(golden)``.
The scripts are loaded by path, not imported by name, because most are called like the tool they
import. A script whose tool no registry carries finds that tool's path in ``$TOOL_SOURCE``.

Standard library only, Python 3.8 or later.
"""

import importlib.util
import json
import math
import os
import platform
import re
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
REFUSAL_LENGTH = 200


def number(value):
    """`value` as JSON can hold it: a float, or "nan", "inf", "-inf"."""
    value = float(value)
    return value if math.isfinite(value) else str(value)


class Golden:
    """What one tool answered: case by case, metric by metric."""

    def __init__(self, tool, inputs):
        self.tool = tool
        self.inputs = inputs
        self.cases = {case["name"]: {"metrics": {}} for case in inputs.CASES}

    def metric(self, case, name, mean=None, per_user=None):
        """Keep one metric: the tool's own mean and its own values per user, where it has them."""
        kept = {}
        if mean is not None:
            kept["mean"] = number(mean)
        if per_user is not None:
            kept["per_user"] = {str(user): number(per_user[user]) for user in sorted(per_user)}
        self.cases[case["name"]]["metrics"][name] = kept

    def attempt(self, case, name, compute):
        """Keep ``compute()`` — a mean, or (mean, per user) — or the refusal that it raised."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = compute()
            mean, per_user = answer if isinstance(answer, tuple) else (answer, None)
            self.metric(case, name, mean, per_user)
        except Exception as error:
            kept = {"refused": refusal(error)}
            self.cases[case["name"]]["metrics"][name] = kept

    def note(self, case, text):
        self.cases[case["name"]]["note"] = text

    def refuse(self, case, error):
        """Say that the tool takes nothing of `case`; `error` is its exception or its words."""
        text = refusal(error) if isinstance(error, Exception) else error
        self.cases[case["name"]] = {"refused": text}

    def lines(self, version, packages):
        """The file: one line for each metric, in a fixed order."""
        head = {
            "tool": self.tool,
            "version": version,
            "python": platform.python_version(),
            "packages": packages,
            "command": "python tests/conformance/record.py " + self.tool,
            "inputs": self.inputs.digest(),
        }
        yield "{"
        for key, value in head.items():
            yield f"  {json.dumps(key)}: {json.dumps(value, sort_keys=True)},"
        yield '  "cases": {'
        kept = {name: settled(case) for name, case in self.cases.items()}
        kept = {name: case for name, case in kept.items() if case}
        for at, (name, case) in enumerate(kept.items()):
            yield f"    {json.dumps(name)}: {{"
            metrics = case.pop("metrics", None)
            for key in sorted(case):
                yield "      {}: {}{}".format(
                    json.dumps(key), dump(case[key]), "," if metrics else ""
                )
            if metrics:
                yield '      "metrics": {'
                for place, metric in enumerate(sorted(metrics), start=1):
                    comma = "," if place < len(metrics) else ""
                    yield f"        {json.dumps(metric)}: {dump(metrics[metric])}{comma}"
                yield "      }"
            yield "    }" + ("," if at < len(kept) - 1 else "")
        yield "  }"
        yield "}"


def settled(case):
    """`case` without what says nothing; one refusal where every metric was refused alike."""
    metrics = case.get("metrics", {})
    refusals = {metric.get("refused") for metric in metrics.values()}
    if len(refusals) == 1 and None not in refusals:
        kept = {key: value for key, value in case.items() if key != "metrics"}
        return dict(kept, refused=refusals.pop())
    return {key: value for key, value in case.items() if value}


def refusal(error):
    # Paths and addresses differ from machine to machine.
    words = re.sub(r"(/[\w.+-]+){2,}", "PATH", " ".join(str(error).split()))
    words = re.sub(r"0x[0-9a-f]+", "ADDRESS", words)
    return (f"{type(error).__name__}: {words}")[:REFUSAL_LENGTH]


def dump(value):
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def load(script):
    path = os.path.join(HERE, "record", script + ".py")
    spec = importlib.util.spec_from_file_location("recording_script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(tool, script, output):
    sys.dont_write_bytecode = True
    script = load(script)
    golden = Golden(tool, script.inputs)
    script.record(golden)
    text = "\n".join(golden.lines(script.VERSION, script.PACKAGES)) + "\n"
    with open(output, "w", encoding="ascii", newline="\n") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
