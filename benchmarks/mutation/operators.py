"""The changes that are made to an expression or a statement, each with a name."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Change = tuple[str, ast.expr | ast.stmt, str]  # the operator, what is replaced, by what

_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
_PAIRS = [
    *[("min", "max"), ("minimum", "maximum"), ("amin", "amax"), ("argmin", "argmax"), ("fmin", "fmax")],
    *[("any", "all"), ("floor", "ceil"), ("cummin", "cummax"), ("clamp_min", "clamp_max")],
]
_SWAPPED = dict(_PAIRS) | {second: first for first, second in _PAIRS}


def changes(node: ast.AST) -> Iterator[Change]:
    """Every change of this node; what is inside it has its own.

    >>> [becomes for _, _, becomes in changes(ast.parse("a < b", mode="eval").body)]
    ['(a <= b)', '(a >= b)']
    """
    for kind, operator in _OPERATORS.items():
        if isinstance(node, kind):
            yield from operator(node)


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(ast.fix_missing_locations(node))})"


def _compared(node: ast.Compare) -> Iterator[Change]:
    for table in (_BOUNDARY, _OPPOSITE):
        for position, sign in enumerate(node.ops):
            if type(sign) in table:
                other = copy.deepcopy(node)
                other.ops[position] = table[type(sign)]()
                yield "comparison", node, _text(other)


def _computed(node: ast.BinOp) -> Iterator[Change]:
    if type(node.op) not in _ARITHMETIC or _is_text(node.left) or _is_text(node.right):
        return
    yield "arithmetic", node, _text(ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right))
    if isinstance(node.op, ast.Add | ast.Sub):
        yield "term removed", node, _text(node.left)
    if isinstance(node.op, ast.Add):
        yield "term removed", node, _text(node.right)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _increased(node: ast.AugAssign) -> Iterator[Change]:
    yield "statement removed", node, "pass"
    if type(node.op) in _ARITHMETIC and not _is_text(node.value):
        other = ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
        yield "arithmetic", node, ast.unparse(ast.fix_missing_locations(other))


def _constant(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield "constant", node, str(not node.value)
    elif isinstance(node.value, int):
        yield "constant", node, str(node.value + 1)
        if node.value > 0:
            yield "constant", node, str(node.value - 1)
    elif isinstance(node.value, float):
        yield "constant", node, repr(2 * node.value or 1.0)


def _combined(node: ast.BoolOp) -> Iterator[Change]:
    yield "and, or", node, _text(ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values))


def _negated(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not):
        yield "negation", node, _text(node.operand)
    if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield "arithmetic", node, _text(node.operand)


def _condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Change]:
    if isinstance(node.test, ast.Compare | ast.Constant) or _is_not(node.test):
        return  # its own changes turn it round
    yield "negation", node.test, f"(not {_text(node.test)})"


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _called(node: ast.Call) -> Iterator[Change]:
    name = node.func
    if isinstance(name, ast.Name) and name.id in _SWAPPED:
        yield "min, max", name, _SWAPPED[name.id]
    elif isinstance(name, ast.Attribute) and name.attr in _SWAPPED:
        yield "min, max", name, _text(ast.Attribute(name.value, _SWAPPED[name.attr], name.ctx))


def _statement(node: ast.Expr) -> Iterator[Change]:
    if isinstance(node.value, ast.Call):
        yield "statement removed", node, "pass"


def _returned(node: ast.Return) -> Iterator[Change]:
    if node.value is None:
        yield "statement removed", node, "pass"
    elif not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield "return", node, "return None"


def _sliced(node: ast.Slice) -> Iterator[Change]:
    for bound in (node.lower, node.upper):
        if bound is not None and not isinstance(bound, ast.Constant | ast.UnaryOp):  # a number has its own changes
            yield "slice", bound, _text(ast.BinOp(bound, ast.Add(), ast.Constant(1)))


_OPERATORS: dict[type[ast.AST], Callable[..., Iterator[Change]]] = {
    ast.Compare: _compared,
    ast.BinOp: _computed,
    ast.AugAssign: _increased,
    ast.Constant: _constant,
    ast.BoolOp: _combined,
    ast.UnaryOp: _negated,
    ast.If: _condition,
    ast.IfExp: _condition,
    ast.While: _condition,
    ast.Call: _called,
    ast.Expr: _statement,
    ast.Return: _returned,
    ast.Slice: _sliced,
}
