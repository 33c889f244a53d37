"""A formula that computes: the text that `show` prints is what is evaluated."""

from __future__ import annotations

import ast
import functools
from types import CodeType
from typing import Any

import numpy as np

from rankmeter._evidence.hits import FloatArray, ratio
from rankmeter._evidence.steps import note_formula


def formula(text: str, *, name: str = "", nothing: float = 0.0, **terms: Any) -> FloatArray:
    """Evaluate an expression on arrays, and note it with its parts for `show`.

    Parameters
    ----------
    text : str
        An expression of Python with the names of the parts, such as ``"hits / relevant"``. It may
        use ``sqrt``, ``log``, ``exp``, ``min``, ``max`` and ``a if condition else b``.
    name : str
        The name of the number where it is a part of another one.
    nothing : float
        Value of a division by 0.
    **parts : array or float
        One number per user, or one for all. None is infinite: a cutoff that does not cut.

    Returns
    -------
    float64 array

    Examples
    --------
    >>> import numpy as np
    >>> formula("hits / relevant", hits=np.array([1.0, 0.0]), relevant=np.array([2, 0]))
    array([0.5, 0. ])
    """
    values = {part: np.inf if value is None else value for part, value in terms.items()}
    divide = functools.partial(_divide_arrays, fallback=nothing)
    value = eval(_compile_formula(text), {**_FUNCTIONS, "divide": divide}, values)  # noqa: S307
    result: FloatArray = np.asarray(value, dtype=np.float64)
    return note_formula(result, text, name, **terms)


def _divide_arrays(numerator: Any, denominator: Any, fallback: float) -> FloatArray:
    if np.ndim(numerator) < np.ndim(denominator):
        numerator = np.broadcast_to(numerator, np.shape(denominator))
    return ratio(np.asarray(numerator), denominator, nothing=fallback)


_FUNCTIONS = {
    "sqrt": np.sqrt, "log": np.log, "exp": np.exp, "min": np.minimum, "max": np.maximum,
    "where": np.where, "infinity": np.inf, "__builtins__": {},
}  # fmt: skip


@functools.cache
def _compile_formula(text: str) -> CodeType:
    tree = _Vectorized().visit(ast.parse(text, mode="eval"))
    return compile(ast.fix_missing_locations(tree), text, "eval")


class _Vectorized(ast.NodeTransformer):
    """Division and conditions as functions of arrays."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _call_node("divide", node.left, node.right) if isinstance(node.op, ast.Div) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call_node("where", node.test, node.body, node.orelse)


def _call_node(function: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), [*args], [])
