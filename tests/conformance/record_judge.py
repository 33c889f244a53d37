"""Record means of ppi-python, which corrects labels of people by those of a model.

    PYTHON tests/conformance/record_judge.py

in an environment with ``pip install ppi-python==0.2.3``. Writes ``tests/data/ppi_python.json``:
made up values of people, of the model on the same queries and on others, and for weights λ the
estimate and the normal interval; ``tuned`` is with the weight that ppi-python fits.
"""

import json
from importlib.metadata import version
from pathlib import Path
from random import Random

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

OUTPUT = Path(__file__).parents[1] / "data" / "ppi_python.json"


def main():
    random, cases = Random(3), []
    for n, others, agreement in ((8, 20, 0.9), (25, 400, 0.8), (60, 90, 0.3), (40, 41, -0.5)):
        truth = [random.betavariate(1, 2) for _ in range(n + others)]
        noise = [random.betavariate(1, 2) for _ in truth]
        share = abs(agreement)
        sign = 1 if agreement > 0 else -1
        model = [
            round(share * (t if sign > 0 else 1 - t) + (1 - share) * x, 6)
            for t, x in zip(truth, noise, strict=True)
        ]
        people = [round(t, 6) for t in truth[:n]]
        given = [np.array(part) for part in (people, model[:n], model[n:])]
        found = {}
        for name, weight in (("0", 0.0), ("0.4", 0.4), ("1", 1.0), ("tuned", None)):
            low, high = ppi_mean_ci(*given, alpha=0.05, lam=weight)
            estimate = ppi_mean_pointestimate(*given, lam=weight)
            found[name] = [float(np.squeeze(x)) for x in (estimate, low, high)]
        cases.append(
            {"people": people, "model": model[:n], "others": model[n:], "by weight": found}
        )
    content = {
        "version": version("ppi-python"),
        "command": "python tests/conformance/record_judge.py",
        "cases": cases,
    }
    lines = [
        f"{json.dumps(key)}: {json.dumps(one, separators=(',', ':'))}"
        for key, one in content.items()
    ]
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
