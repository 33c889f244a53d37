"""``llms.txt``: all metrics, options, conventions and commands on one page for language models.

``make llms`` writes it, Sphinx copies it to the root of the pages; links are relative.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankmeter._choices import CHOICES, format_value
from rankmeter._cli import command_summaries
from rankmeter.metrics import METRICS, Option, Spec
from rankmeter_docs.conventions import all_conventions
from rankmeter_docs.needs import needs

DOCS = Path(__file__).parents[2]
FILE = DOCS / "llms.txt"

START = """\
# rankmeter

> Measures rankings (recommendations, search results, link predictions) in Python and in a shell:
> {n_metrics} metrics, each under the convention you choose, with a confidence interval for every
> mean, and tests of whether one system is better than another. `pip install rankmeter`, `import
> rankmeter as rm`.

* Rankings: `{{user: [items]}}`, best first, or `{{user: {{item: score}}}}`, frames with columns
  user, item, score or rank, arrays of item ids, files. Ground truth: `{{user: {{items}}}}` or
  `{{user: {{item: gain}}}}`, frames, files.
* Rankings come first, then the ground truth: `rm.evaluate(rankings, truth, ["ndcg@10",
  "map@10"])`.
* `result["ndcg@10"].mean`, `.interval`; `result.per_user` (a frame); `result.to_dict()`;
  `result.plan` (every choice).
* `rm.compare({{"A": rankings_a, "B": rankings_b}}, truth, metrics, baseline="A")` tests
  differences user by user.
* `rm.explain(rankings, truth, "ndcg@10", between=("recbole", "lenskit"))` says why two tools
  differ.
* `rm.evaluate_scores(scores, target, metrics)` takes matrices of scores,
  `rm.evaluate_ranks(ranks, metrics)` ranks.
* A metric is text: `ndcg@10`, `ndcg(gain=exp2)@10`, `ndcg(ties=expected)@10`, `mrr`. Options in
  parentheses are those of the metric, listed below, or those of every metric.
* `like="trec_eval"` (in a shell: `--like trec_eval`) follows the convention and the metric names
  of a tool.
* Metrics that need `train=`, `items=`, `catalogue=` and the like say so below.
* Nothing is dropped silently: input that cannot be read with certainty raises an error that says
  what to do.
* Output with `--json` and `to_dict()` follows the JSON schema that `rankmeter schema` prints.
"""


def text() -> str:
    """The whole page."""
    parts = [START.format(n_metrics=len(METRICS))]
    parts += ["## Pages", *_pages()]
    parts += ["", "## Metrics", *map(_metric, METRICS.values())]
    parts += ["", "## Options of every metric", *_options()]
    parts += ["", "## Conventions", *_conventions()]
    parts += ["", "## Commands"]
    parts += [f"- `rankmeter {name}`: {said}" for name, said in command_summaries().items()]
    return "\n".join(parts) + "\n"


def _pages() -> Iterator[str]:
    folders = (DOCS, DOCS / "guide", DOCS / "ko")
    for path in (path for folder in folders for path in sorted(folder.glob("*.md"))):
        title = path.read_text("utf-8").partition("# ")[2].partition("\n")[0]
        if title and path.stem != "index":
            yield f"- [{title}]({path.relative_to(DOCS).with_suffix('.html').as_posix()})"


def _metric(spec: Spec) -> str:
    facts = [f"needs {needs(spec.name).replace('``', '`') or 'rankings only'}"]
    if options := "; ".join(map(_option, spec.options.values())):
        facts.append(f"options {options}")
    if spec.synonyms:
        facts.append(f"also {', '.join(spec.synonyms)}")
    if not spec.cutoff:
        facts.append("takes no @k")
    if not spec.increasing:
        facts.append("lower is better")
    summary = spec.summary.replace("``", "`")
    return f"- [{spec.name}](metrics/{spec.name}.html): {summary} {_sentences(facts)}"


def _sentences(facts: list[str]) -> str:
    return " ".join(f"{fact[0].upper()}{fact[1:]}." for fact in facts)


def _option(option: Option) -> str:
    values = [*option.choices, *(["none"] if option.optional else [])]
    if option.type is not None:
        values.append(option.type.__name__)
    default = "" if option.required else f", default {format_value(option.default)}"
    return f"`{option.name}` ({' | '.join(values)}{default})"


def _options() -> Iterator[str]:
    for choice in CHOICES.values():
        values = f": {' | '.join(choice.words)}" if choice.words else ""
        default = format_value(choice.default)
        yield f"- `{choice.name}`{values} (default {default}). {choice.meaning}"


def _conventions() -> Iterator[str]:
    for convention in all_conventions():
        names: Any = list(convention.names)[:8]
        said = (
            f" Names: {', '.join(names)}{', …' if len(convention.names) > 8 else ''}."
            if names
            else ""
        )
        link = f"[{convention.title}](conventions/{convention.name}.html)"
        yield f'- {link}: `like="{convention.name}"`.{said}'


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
