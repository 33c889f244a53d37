"""OpenSearch: the class ``Evaluation`` of the plugin search-relevance, compiled by itself.

``$TOOL_SOURCE`` is a checkout of the plugin; it needs a JDK on the path. No server runs: the class
is what the plugin calls for each query with the ids of the hits, in order, and the ratings. Ratings
are the gains of every case. A query needs both; the mean is that of a query set, over all queries
with a value.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import inputs

SOURCE = Path(os.environ["TOOL_SOURCE"])
VERSION = "3.1.0 (d8be5d1)"
PACKAGES = {}
CLASS = "src/main/java/org/opensearch/searchrelevance/metrics/calculator/Evaluation.java"
METRICS = ("Precision", "MAP", "NDCG")
DRIVER = """
import java.util.*;
import org.opensearch.searchrelevance.metrics.calculator.Evaluation;

public class Driver {
    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] parts = lines.nextLine().split("\\t", -1);
            List<String> hits = parts[1].isEmpty() ? List.of() : List.of(parts[1].split(" "));
            Map<String, String> ratings = new HashMap<>();
            for (String one : parts[2].split(" "))
                if (!one.isEmpty()) ratings.put(one.split("=")[0], one.split("=")[1]);
            int k = Integer.parseInt(parts[0]);
            System.out.println(Evaluation.calculatePrecisionAtK(hits, ratings, k)
                + " " + Evaluation.calculateMAPAtK(hits, ratings, k)
                + " " + Evaluation.calculateNDCGAtK(hits, ratings, k));
        }
    }
}
"""


def record(golden):
    asked = [
        (case, user, k)
        for case in inputs.CASES
        for k in case["ks"]
        for user in sorted(set(case["rankings"]) & set(case["truth"]))
    ]
    values = {}
    for (case, user, k), line in zip(asked, answers(map(written, asked)), strict=True):
        for metric, value in zip(METRICS, line.split(), strict=True):
            values.setdefault((case["name"], f"{metric}@{k}"), {})[user] = float(value)
    cases = {case["name"]: case for case in inputs.CASES}
    for (case, metric), per_user in values.items():
        mean = sum(per_user.values()) / len(per_user)
        golden.metric(cases[case], metric, mean, per_user)


def written(asked):
    case, user, k = asked
    ratings = " ".join(f"{item}={json.dumps(gain)}" for item, gain in case["truth"][user].items())
    return f"{k}\t{' '.join(inputs.ranked_items(case, user))}\t{ratings}\n"


def answers(lines):
    with tempfile.TemporaryDirectory() as folder:
        driver = Path(folder, "Driver.java")
        driver.write_text(DRIVER)
        subprocess.run(["javac", "-d", folder, SOURCE / CLASS, driver], check=True)
        command = ["java", "-cp", folder, "Driver"]
        text = "".join(lines)
        return subprocess.check_output(command, input=text, text=True).splitlines()
