"""The English of the house: phrases that read as translated, each with the wording to use instead.

Checked are the pages, the texts in TOML files, and in Python the docstrings, comments and strings.
"""

from __future__ import annotations

import ast
import inspect
import io
import itertools
import re
import tokenize
from pathlib import Path

import pytest

import rankmeter as rm
from rankmeter.metrics import METRICS

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]

# pattern → better wording, an example. A blank in a pattern is any white space.
PHRASES = {
    r"\bstands?\b(?!-| for\b| out\b| alone\b)": ("is, has, goes", "the item stands at rank 3"),
    r"\btold\b": ("shown, reported, given", "the user is told"),
    r"\btells?\b(?!(?: \S+){0,5} apart)": ("says, shows, reports", "the table tells who"),
    r"\bthat there (?:is|are)\b": ("that exist, available, of the", "the lists that there are"),
    r"\b(?:is|are) (?-i:none)\b": (
        "is not a …, without a …",
        "it is none of the columns",
    ),
    r"\bnobody (?:asks|asked|can|claims|could|has|knows|was)\b": (
        "unknown, unjudged, unused; or name who",
        "a column that nobody claims",
    ),
    r"(?<!for\s)\bwhom\b": ("who, which users", "whom to recommend to"),
    r"\bsave those\b": ("except", "all users, save those without a list"),
    r"\bfrom \d+(?: \w+)? (?:on|up)\b": ("≥ N, N or more", "an integer from 0 on"),
    r"\bwhole numbers?\b": ("integer", "must be a whole number of at least 1"),
    r"\bbeside\b": ("next to, alongside, with", "the column beside it"),
    r"\b(?:has|have) to be said\b": ("is required", "Has to be said."),
    r"(?<!there\s)\b(?:is|are) no (?!longer|more|less|better|worse|other|such|reason)[a-z]\w+": (
        "is not a …",
        "the value is no number",
    ),
    r"\bknows? (?:no|neither)\b": ("has no, does not support", "it knows no short lists"),
    r"\bdo(?:es)? as \w+ do(?:es)?\b": ("like …, does what …", "do as trec_eval does"),
    r"\bwhat becomes of\b": ("what happens to", "what becomes of the users"),
    r"\bthe one or the other\b": ("either", "the one or the other is better"),
    r"\bmay be [\w ]{1,40} or not\b": ("can be", "it may be sorted or not"),
    r"\bopen ties?\b": ("unresolved ties", "metrics of open ties"),
    # As a whole text it is the name of an option.
    r"(?!\Ajudgements\Z)\bjudgements?\b": ("judgment", "a judgement of relevance"),
    r"\w*(?:normalis|summaris|recognis|synchronis|vectoris|emphasis(?:ed|es\b|ing)|standardis"
    r"|linearis|randomis)\w*": ("-ize: American spelling, as judgment", "the normalised gain"),
    r"\b(?:un)?labelled\b|(?:colour|behaviour)\w*|\bcentre\b": (
        "American spelling, as judgment",
        "the colour of a mark",
    ),
    r"\bcounts? (?:0|1|zero|one)\b": ("counts as …", "a user without a list counts 0"),
    r"\bin silence\b": ("silently", "rows are dropped in silence"),
    r"\bnothing but\b": ("only", "it reads nothing but ranks"),
    r"[,;] found (?=[`'\"{\d]|\Z)": ("got, for the value that was given", "must be 1, found 0"),
    r"\bcomes? about\b": ("is computed", "how a value comes about"),
    r"\bhand(?:s|ed)? out\b": ("return", "the result hands out frames"),
    r"\bthe house\b": ("rankmeter's, default", "the words of the house"),
    r"\brows? of evaluation\b": ("users", "a row of evaluation"),
    r"\b(?:is|are) there twice\b": ("is repeated, duplicate …", "user 3 is there twice"),
    r"\bname (?:it|one|another) (?:once|instead|file|folder)\b": (
        "use, pass, choose",
        "name it once",
    ),
    r"\b(?:of|measures?) what was shown\b": (
        "list metrics; of the recommended items",
        "metrics of what was shown",
    ),
    r"\b(?:numbers? (?:of|for|made of) (?:all|the) lists|the lists of all users)\b": (
        "computed over all lists at once",
        "numbers of the lists",
    ),
    r"\b(?:of|between) each two\b": ("pairwise", "the distance of each two"),
    r"\bas many as (?:there are|were)\b": ("name the number", "takes as many as were ranked"),
    r"\bsuch (?:a page|a mean|a ranking)\b": ("repeat the noun", "if the file is such a page"),
    r"\bnot have been met\b": ("the sample may have missed", "users may not have been met"),
    r"\bwith equal numbers\b": ("giving the same numbers", "new code, with equal numbers"),
    r"\bmakes? the choices of\b": ("applies the options of", "it makes the choices of a tool"),
    r"\bread differences with care\b": (
        "treat differences with caution",
        "read differences with care",
    ),
    r"\bnever the right choice\b": ("say in which case", "it is never the right choice"),
}
RULES = [
    (re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), better)
    for pattern, (better, _) in PHRASES.items()
]

# Exact phrases that a pattern finds and that are right: names, quotations.
ALLOWED = {
    "MRR[beside k=3]",  # the name of a recorded metric
    "judgements=",  # an option
    "--judgements",
    "duplicate judgements merged",  # the note of the count with this name
}


def pages():
    """Prose outside Python: Markdown without its code, TOML, and the scripts of the house."""
    patterns = ("*.md", "changelog.d/*.md", "docs/**/*.md", "docs/*.toml", "tests/conformance/*.md")
    patterns += ("tests/**/*.toml", "src/**/*.toml", "pyproject.toml", "Makefile", ".ci/*")
    for path in sorted(itertools.chain.from_iterable(map(ROOT.glob, patterns))):
        if "_build" not in path.parts:
            text = path.read_text("utf-8")
            yield path, [(1, without_code(text) if path.suffix == ".md" else text)]


def without_code(page):
    """Markdown with its blocks of code left blank; directives are prose."""
    kept, block = [], None
    for line in page.splitlines():
        if fence := re.match(r" *```(\{?)", line):
            block = None if block else ("prose" if fence[1] else "code")
        kept.append("" if fence or block == "code" else line)
    return "\n".join(kept)


def modules():
    """The texts in the Python files."""
    for folder in ("src", "tests", "benchmarks", "docs/_ext"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path != Path(__file__):
                source = path.read_text("utf-8")
                yield path, [*strings(source), *comments(source)]


def strings(source):
    """The strings of a module, docstrings and parts of f-strings included, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def comments(source):
    """The comments of a module; those on lines that follow each other are one text."""
    found = [
        (token.start[0], token.string.lstrip("#: "))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    for _, run in itertools.groupby(enumerate(found), lambda one: one[1][0] - one[0]):
        lines = [one for _, one in run]
        yield lines[0][0], "\n".join(text for _, text in lines)


def mistakes(line, text):
    """Line, phrase and better wording of each rule that a text breaks."""
    for allowed in ALLOWED:
        text = text.replace(allowed, " " * len(allowed))
    for rule, better in RULES:
        for match in rule.finditer(text):
            yield line + text.count("\n", 0, match.start()), match[0], better


def test_the_prose_of_the_house_is_plain_english():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {' '.join(phrase.split())!r} → {better}"
        for path, texts in itertools.chain(pages(), modules())
        for first, text in texts
        for line, phrase, better in mistakes(first, text)
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("pattern", PHRASES)
def test_each_rule_finds_its_example(pattern):
    better, example = PHRASES[pattern]
    assert [found for _, _, found in mistakes(1, example)] == [better]


@pytest.mark.parametrize(
    "text",
    [
        "a stand-in for the model; k stands for the cutoff",
        "two calls that a reader can tell apart",
        "there is no ranking; the list is no longer than k",
        "none of these values is wrong",
        "ids from 0 to 9",
    ],
)
def test_plain_english_passes(text):
    assert not list(mistakes(1, text))


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_the_first_line_of_a_metric_begins_with_its_full_name(metric):
    assert metric.summary.lower().startswith(metric.title.lower())


def test_first_lines_of_public_docstrings_have_a_subject():
    public = [getattr(rm, name) for name in rm.__all__ if name not in METRICS]
    classes = [each for each in public if isinstance(each, type)]
    methods = [each for cls in classes for name, each in vars(cls).items() if name[0] != "_"]
    first = [(inspect.getdoc(each) or "").split("\n")[0] for each in [*public, *methods]]
    assert not [line for line in first if re.match(r"(?:That|Those|The same|The one|What)\b", line)]


def test_texts_are_read_with_their_lines():
    source = 'x = 1  # one\n# two\ny = f"three {x} four"\n\n\ndef f():\n    """Five\n    six."""\n'
    assert list(comments(source)) == [(1, "one\ntwo")]
    assert [line for line, _ in strings(source)] == [3, 3, 7]
    assert without_code("a\n```python\nb\n```\n```{note}\nc\n```\nd") == "a\n\n\n\n\nc\n\nd"
