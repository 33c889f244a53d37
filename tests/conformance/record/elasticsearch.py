"""Elasticsearch: the methods that evaluate a query in the classes of its module rank-eval.

``$TOOL_SOURCE`` is the folder with ``DiscountedCumulativeGain.java`` and the others; it needs a JDK
on the path. No server runs: the published methods are taken out of the classes as they are and
compiled with the few types that they use, in `DRIVER`. As in a ``_rank_eval`` request, the hits are
those of a search of size k, and ratings are integers. Queries are those with a list and a truth;
the mean is over these.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

import inputs

SOURCE = Path(os.environ["TOOL_SOURCE"])
VERSION = "main (DiscountedCumulativeGain of d04e400)"
PACKAGES = {}
METRICS = {
    "precision": "new PrecisionAtK()",
    "recall": "new RecallAtK()",
    "mean_reciprocal_rank": "new MeanReciprocalRank()",
    "dcg": "new DiscountedCumulativeGain()",
    "dcg[normalize=true]": "new DiscountedCumulativeGain(true)",
    "expected_reciprocal_rank[maximum_relevance=5]": "new ExpectedReciprocalRank()",
}
# The class, the methods that are taken out of it, and the fields that they use.
FIELDS = {
    "PrecisionAtK": ("evaluate", "int relevantRatingThreshhold = 1; boolean ignoreUnlabeled;"),
    "RecallAtK": (
        "evaluate isRelevant getRelevantRatingThreshold",
        "int relevantRatingThreshold = 1;",
    ),
    "MeanReciprocalRank": ("evaluate", "int relevantRatingThreshhold = 1;"),
    "DiscountedCumulativeGain": (
        "evaluate computeDCG",
        """static final double LOG2 = Math.log(2.0); Integer unknownDocRating; boolean normalize;
        DiscountedCumulativeGain(boolean... n) { normalize = n.length > 0; }""",
    ),
    "ExpectedReciprocalRank": (
        "evaluate probabilityOfRelevance",
        "int k = 1000; Integer unknownDocRating; double two_pow_maxRelevance = Math.pow(2, 5);",
    ),
}
DRIVER = """
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Scanner;
import java.util.stream.Collectors;

class Optional<T> {
    T value;
    boolean isPresent() { return value != null; }
    T get() { return value; }
}
class OptionalInt extends Optional<Integer> {
    int getAsInt() { return value; }
}
record SearchHit(String id) {}
record RatedDocument(String id, int rating) { int getRating() { return rating; } }
record RatedSearchHit(OptionalInt rating) { OptionalInt getRating() { return rating; } }
class Detail { Detail(Object... facts) {} }
class EvalQueryQuality {
    double value;
    EvalQueryQuality(String id, double value) { this.value = value; }
    void addHitsAndRatings(Object hits) {}
    void setMetricDetails(Object details) {}
}
abstract class Metric {
    static class Detail { Detail(Object... facts) {} }
    static class Breakdown { Breakdown(Object... facts) {} }
    abstract EvalQueryQuality evaluate(String id, SearchHit[] hits, List<RatedDocument> docs);
    static List<RatedSearchHit> joinHitsWithRatings(SearchHit[] hits, List<RatedDocument> docs) {
        List<RatedSearchHit> joined = new ArrayList<>();
        for (SearchHit hit : hits) {
            OptionalInt rating = new OptionalInt();
            for (RatedDocument doc : docs)
                if (doc.id().equals(hit.id())) rating.value = doc.rating();
            joined.add(new RatedSearchHit(rating));
        }
        return joined;
    }
}
public class Driver {
    public static void main(String[] arguments) {
        Metric[] metrics = {METRICS};
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] parts = lines.nextLine().split("\\t", -1);
            List<SearchHit> hits = new ArrayList<>();
            for (String id : parts[0].split(" ")) if (!id.isEmpty()) hits.add(new SearchHit(id));
            List<RatedDocument> docs = new ArrayList<>();
            for (String one : parts[1].split(" ")) {
                String[] rated = one.split("=");
                if (one.isEmpty()) continue;
                docs.add(new RatedDocument(rated[0], Integer.parseInt(rated[1])));
            }
            SearchHit[] searched = hits.toArray(new SearchHit[0]);
            StringBuilder values = new StringBuilder();
            for (Metric metric : metrics)
                values.append(metric.evaluate("", searched, docs).value + " ");
            System.out.println(values);
        }
    }
}
"""


def record(golden):
    asked, cases = [], {case["name"]: case for case in inputs.CASES}
    for case in inputs.CASES:
        if any(gain % 1 for judged in case["truth"].values() for gain in judged.values()):
            golden.refuse(case, "ratings are integers")
            continue
        users = sorted(set(case["rankings"]) & set(case["truth"]))
        asked += [(case, user, k) for k in case["ks"] for user in users]
    values = {}
    for (case, user, k), line in zip(asked, answers(map(written, asked)), strict=True):
        for metric, value in zip(METRICS, line.split(), strict=True):
            values.setdefault((case["name"], f"{metric}@{k}"), {})[user] = float(value)
    for (case, metric), per_user in values.items():
        golden.metric(cases[case], metric, sum(per_user.values()) / len(per_user), per_user)


def written(asked):
    case, user, k = asked
    ratings = " ".join(f"{item}={gain}" for item, gain in case["truth"][user].items())
    return f"{' '.join(inputs.ranked_items(case, user)[:k])}\t{ratings}\n"


def answers(lines):
    classes = DRIVER.replace("METRICS", ", ".join(METRICS.values()))
    for name, (methods, fields) in FIELDS.items():
        source = (SOURCE / f"{name}.java").read_text()
        body = "\n".join(method(source, one) for one in methods.split())
        classes += f"class {name} extends Metric {{ {fields}\n{body} }}\n"
    with tempfile.TemporaryDirectory() as folder:
        driver = Path(folder, "Driver.java")
        driver.write_text(classes)
        subprocess.run(["javac", "-d", folder, driver], check=True)
        command, text = ["java", "-cp", folder, "Driver"], "".join(lines)
        return subprocess.check_output(command, input=text, text=True).splitlines()


def method(source, name):
    """The text of a method, up to its last brace."""
    start = re.search(rf"^ *(public |private |static )*[\w<>]+ {name}\(", source, re.MULTILINE)
    end, depth = source.index("{", start.end()) + 1, 1
    while depth:
        depth += {"{": 1, "}": -1}.get(source[end], 0)
        end += 1
    return source[start.start() : end]
