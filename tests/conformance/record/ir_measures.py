"""ir_measures: ``calc_aggregate(measures, qrels, run)``, ``iter_calc``, the default providers.

The provider, and with it the tie rule, depends on the measure and its parameters: it is kept with
each measure in the metric's name, as in ``RR {msmarco}@3``.
"""

import logging
from importlib.metadata import version

import inputs
import ir_measures
from ir_measures import (
    AP,
    BPM,
    ERR,
    INSQ,
    INST,
    NERR8,
    NERR9,
    NERR10,
    NERR11,
    RBP,
    RR,
    SDCG,
    Accuracy,
    Bpref,
    Compat,
    IPrec,
    Judged,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
    P,
    R,
    Rprec,
    SetAP,
    SetF,
    SetP,
    SetR,
    SetRelP,
    Success,
    infAP,
    nDCG,
)  # fmt: skip

VERSION = version("ir_measures")
PACKAGES = {name: version(name) for name in ("pytrec-eval-terrier", "cwl-eval")}

CUT = [
    P, R, AP, nDCG, nDCG(dcg="exp-log2"), nDCG(judged_only=True), RR, Success, Judged, ERR,
    SDCG(max_rel=5), BPM(max_rel=5), BPM(T=2.0, max_rel=5), NERR8(max_rel=5), NERR9(max_rel=5),
]  # fmt: skip
WHOLE = [
    AP, nDCG, nDCG(gains={1: 1, 2: 3, 3: 7, 4: 15}), RR, Rprec, Bpref, infAP, RBP(rel=1),
    RBP(p=0.5, rel=1), SetP, SetR, SetF, SetF(beta=2.0), SetAP, SetRelP, Accuracy, Compat,
    Compat(p=0.8), INST(max_rel=5), INST(T=2.0, max_rel=5),
    INSQ(max_rel=5), INSQ(T=0.5, max_rel=5), NERR10(max_rel=5), NERR10(p=0.8, max_rel=5),
    NERR11(T=2.0, max_rel=5), NumQ, NumRel, NumRet, NumRelRet, IPrec @ 0.2, IPrec @ 0.5,
]  # fmt: skip
BINARY = [P, R, AP, RR, Success]


def record(golden):
    logging.getLogger("ir_measures").setLevel("ERROR")  # cwl_eval warns of every binary truth
    logging.getLogger("ir_measures.cwl_eval").setLevel("ERROR")
    for case in inputs.CASES:
        run = {user: dict(map(tuple, listed)) for user, listed in case["rankings"].items()}
        # gdeval reads only integers: every user is represented by its number.
        numbers = inputs.user_numbers(case)
        run = {str(numbers[user]): listed for user, listed in run.items()}
        truth = {str(numbers[user]): judged for user, judged in case["truth"].items()}
        users = {str(number): user for user, number in numbers.items()}
        for measure in measures(case):
            golden.attempt(case, spelled(measure), lambda m=measure: answer(m, truth, run, users))


def measures(case):
    level = case["relevant"].get("at_least", case["relevant"].get("above", 0) + 1)
    for measure in CUT:
        for k in case["ks"]:
            yield (measure(rel=level) if level > 1 and measure in BINARY else measure) @ k
    yield from WHOLE
    if "gains" in " ".join(case["features"]):
        yield from (measure(rel=2) @ k for measure in BINARY for k in case["ks"])
        yield Bpref(rel=2)
        yield Rprec(rel=2)


def answer(measure, truth, run, users):
    per_user = {users[m.query_id]: m.value for m in ir_measures.iter_calc([measure], truth, run)}
    return ir_measures.calc_aggregate([measure], truth, run)[measure], per_user


def spelled(measure):
    """The measure's own spelling with its provider; "@k" last."""
    name, at, k = str(measure).partition("@")
    return f"{name} {{{provider(measure)}}}{at}{k}"


def provider(measure):
    for candidate in ir_measures.DefaultPipeline.providers:
        if candidate.is_available() and candidate.supports(measure):
            return candidate.NAME
    return "none"
