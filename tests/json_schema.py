"""Results against the schema that `rankmeter schema` prints: one kind each, and no unknown key."""

from __future__ import annotations

import copy
import functools
import json

import jsonschema

from command_line import rankmeter

KINDS_AT = "#/$defs/"
"""Where the schema describes kinds."""


@functools.cache
def schema():
    """The schema as the command prints it."""
    return json.loads(rankmeter("schema").out)


def kinds():
    """The names of the kinds of results."""
    return [kind["$ref"].removeprefix(KINDS_AT) for kind in schema()["anyOf"]]


def closed(node):
    """The schema, in which an object has only the keys that are described."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {name: closed(item) for name, item in node.items()}
    if isinstance(node.get("properties"), dict) and "type" in node:
        node.setdefault("additionalProperties", False)
    return node


@functools.cache
def published():
    """A validator of the schema as it is."""
    return jsonschema.Draft202012Validator(schema())


@functools.cache
def validator(kind):
    """A validator of one kind of result."""
    whole = {"$defs": closed(copy.deepcopy(schema()["$defs"])), "$ref": KINDS_AT + kind}
    return jsonschema.Draft202012Validator(whole)


def kind_of(result):
    """The only kind of result that this is, under the published schema and under the closed one."""
    assert published().is_valid(result)
    rest = {name: value for name, value in result.items() if name != "schema"}
    found = [kind for kind in kinds() if validator(kind).is_valid(rest)]
    if not found:
        errors = {kind: [*validator(kind).iter_errors(rest)] for kind in kinds()}
        kind = min(errors, key=lambda name: len(errors[name]))
        raise AssertionError(f"not {kind}: {[error.message[:300] for error in errors[kind]]}")
    assert len(found) == 1, found
    return found[0]
