"""trec_eval itself: ``trec_eval -q [-c] [-l N] [-J] -m ... QRELS RUN`` on TREC files.

The source is the path of the binary: ``TREC_EVAL`` for version 10, ``TREC_EVAL_9`` for 9.0.8, which
calls itself 9.0.7. It prints four decimals, so these values are rounded; the same formulas with all
digits are in the golden of pytrec_eval. Where the users of the two sides differ a case is run with
``-c`` too (every user of the qrels counts), a graded one with ``-l 2``, ``-J`` (judged items only)
and with gains of its own. Names as trec_eval prints them, the cutoff behind "@".
"""

import os
import subprocess
import tempfile

import inputs

BINARY = os.environ["TOOL_SOURCE"]
VERSION = subprocess.run(
    [BINARY, "--version"], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
).stdout.split()[-1]
PACKAGES = {}

CUT = ["P", "recall", "map_cut", "ndcg_cut", "success", "relative_P"]
NEW = ["rbp", "rbp_resid"]
WHOLE = [
    "map", "gm_map", "ndcg", "ndcg_rel", "Rndcg", "recip_rank", "Rprec", "bpref", "gm_bpref",
    "11pt_avg", "iprec_at_recall", "infAP", "binG", "G", "set_P", "set_recall", "set_relative_P",
    "set_map", "set_F", "num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret",
    "utility", "Rprec_mult", "yaap",
]  # fmt: skip
OTHER_USERS = ["empty_lists", "missing_users", "extra_users", "zero_truth", "empty_truth"]
GAINS = "ndcg.1=1,2=3,3=7,4=15"


def record(golden):
    new = [] if VERSION.startswith("9") else NEW
    for case in inputs.CASES:
        ks = ",".join(map(str, case["ks"]))
        measures = [f"{name}.{ks}" for name in CUT] + WHOLE + new
        level = case["relevant"].get("at_least", case["relevant"].get("above", 0) + 1)
        base = ["-l", str(level)] if level > 1 else []
        with tempfile.TemporaryDirectory() as folder:
            files = written(case, folder)
            keep(golden, case, "", base, measures, files)
            if case["name"] in OTHER_USERS:
                keep(golden, case, "[-c]", [*base, "-c"], measures, files)
            if case["name"] in ("graded", "judged_and_unjudged"):
                keep(golden, case, "[-l 2]", ["-l", "2"], measures, files)
                keep(golden, case, "[-J]", ["-J"], measures, files)
                keep(golden, case, "[1=1,2=3,3=7,4=15]", [], [GAINS], files)


def written(case, folder):
    """The qrels and the run as files."""
    qrels = [
        f"{user} 0 {item} {gain}"
        for user, judged in case["truth"].items()
        for item, gain in judged.items()
    ]
    run = [
        f"{user} Q0 {item} {rank} {score!r} run"
        for user, listed in case["rankings"].items()
        for rank, (item, score) in enumerate(listed, start=1)
    ]
    paths = []
    for name, lines in [("qrels", qrels), ("run", run)]:
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
    return paths


def keep(golden, case, option, options, measures, files):
    asked = [part for measure in measures for part in ("-m", measure)]
    done = subprocess.run(
        [BINARY, "-q", *options, *asked, *files],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        said = done.stderr.strip().replace(files[0], "QRELS").replace(files[1], "RUN")
        words = f"exit {done.returncode}: {said}"
        golden.note(case, "{}: {}".format(option or "without -c", words))
    means, users = {}, {}
    for line in done.stdout.splitlines():
        name, user, value = line.split()
        if user == "all":
            means[name] = value
        else:
            users.setdefault(name, {})[user] = value
    for name in sorted(set(means) | set(users)):
        golden.metric(case, spelled(name, option), means.get(name), users.get(name))


def spelled(name, option):
    head, _, last = name.rpartition("_")
    known = head in CUT or head in ("iprec_at_recall", "Rprec_mult")
    return f"{head}{option}@{last}" if known else name + option
