"""Record the ranks of LibKGE for scores that are close to each other.

    TOOL_SOURCE=CHECKOUT PYTHON tests/conformance/record_close.py

in the environment of ``record/libkge.toml``. Writes ``tests/data/libkge_close.json``: scores in
millionths of random queries, many of them equal to that of the target or about as close to it as
LibKGE's tolerance, the other true entities, and the rank of each target for every tie handling.
"""

import json
from pathlib import Path
from random import Random

import torch
from golden import load

OUTPUT = Path(__file__).parents[1] / "data" / "libkge_close.json"
N, WIDTH = 60, 30


def main():
    tool = load("libkge")
    random = Random(0)
    millionths, targets, known = [], [], []
    for _ in range(N):
        row = [random.randrange(-3, 4) * 500_000 for _ in range(WIDTH)]
        row = [score + random.choice([0, 0, 3, -7, 40, -40, 150, -150, 400]) for score in row]
        target = random.randrange(WIDTH)
        others = [one for one in random.sample(range(WIDTH), 4) if one != target]
        millionths.append(row)
        targets.append(target)
        known.append(others)
    scores = torch.tensor(millionths, dtype=torch.float64).div(1e6).float()
    true = scores[torch.arange(N), torch.tensor(targets)]
    for row, others in enumerate(known):
        scores[row, others] = -torch.inf
    ranks = {}
    for kind in tool.KINDS:
        job = tool.Settings(kind, WIDTH)
        found = tool.Job._get_ranks(job, *tool.Job._get_ranks_and_num_ties(job, scores, true))
        ranks[kind] = (found + 1).tolist()
    found = {
        "version": tool.VERSION,
        "command": "TOOL_SOURCE=CHECKOUT python tests/conformance/record_close.py",
        "millionths": millionths,
        "targets": targets,
        "known": known,
        "ranks": ranks,
    }
    lines = [
        f"{json.dumps(key)}: {json.dumps(one, separators=(',', ':'))}" for key, one in found.items()
    ]
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
