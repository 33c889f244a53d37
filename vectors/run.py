"""Run vectors against code of your own: ``python run.py metrics/ndcg.json example.py``.

The module has a function ``measure(metric, ranking, truth, k, options)``: a list of [item, score]
or of items, a mapping from item to gain. It returns the value of a user, None where the metric is
undefined, or raises NotImplementedError: then the vector is skipped.
"""

import json
import math
import runpy
import sys


def run(path, measure):
    with open(path, encoding="utf-8") as text:
        file = json.load(text)
    same = skipped = 0
    different = []
    for vector in file["vectors"]:
        data, metric = file["inputs"][vector["input"]], vector.get("metric", file.get("metric"))
        options = {**data, **vector}
        skipped += "per_user" not in vector  # it has a mean alone
        for user, wanted in vector.get("per_user", {}).items():
            ranking, truth = data["rankings"].get(user, []), data["truth"].get(user, {})
            try:
                found = measure(metric, ranking, truth, vector.get("k"), options)
            except NotImplementedError:
                skipped += 1
                continue
            near = vector.get("tolerance", file.get("tolerance"))
            if found == wanted or (
                None not in (found, wanted)
                and math.isclose(found, float(wanted), rel_tol=near, abs_tol=near)
            ):
                same += 1
            else:
                different.append(f"{metric} {vector['input']} {user}: {found}, not {wanted}")
    return same, skipped, different


if __name__ == "__main__":
    same, skipped, different = run(sys.argv[1], runpy.run_path(sys.argv[2])["measure"])
    print(*different, f"{same} same, {len(different)} different, {skipped} skipped", sep="\n")
    sys.exit(bool(different))
