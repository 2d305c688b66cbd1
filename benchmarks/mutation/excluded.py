"""What is never changed, because no behaviour depends on it."""

from __future__ import annotations

import ast

MESSAGES = {"__repr__", "__str__", "_repr_html_", "__dir__"}  # functions whose whole result is to be read by people
FOR_TESTS = {"_test_parameters"}  # with which arguments the contract tries a method: nobody else calls it

# how much is done at a time, or when another way to the same numbers is taken: memory and speed, never results
BLOCKS = {
    "align/distributed.py": {"_TILE_SIZE": "sequences along the side of a tile"},
    "align/gallery.py": {
        "_BLOCK_DISTANCES": "distances at a time",
        "_QUERY_BLOCK": "queries at once",
        "_SELECTION_BLOCK": "distances sorted at a time",
        "_MAX_LISTED": "rows of a table that is shown",
    },
    "align/gdtw.py": {"_KNOTS_AT_ONCE": "knots solved in one call"},
    "align/soft_dtw.py": {"_MAX_PAIRS": "pairs between two looks for Ctrl-C"},
    "encode/causal/network.py": {"_N_TRIED_ROWS": "rows of a trial product"},
    "native/causal/fallback.py": {"_BLOCK_STEPS": "steps whose taps lie side by side"},
    "encode/objectives/crop_objectives.py": {"_CHUNK_SIZE": "crops at a time where memory is short"},
    "encode/objectives/crops.py": {
        "_MAX_CALLS": "calls of the network at most",
        "_MIN_SAVING": "share of padding that one more call must save",
    },
    "encode/crop_encoder.py": {
        "_MEASURED_STEPS": "steps of the crop by which a network is measured",
        "_MAX_ACTIVATION_BYTES": "bytes from which gradients are taken a few crops at a time",
    },
    "encode/heads/numpy_heads.py": {"_MAX_ITERATIONS": "after which libsvm gives up on a margin that does not exist"},
    "forecast/separation/estimator.py": {"_BLOCK_NUMBERS": "numbers of pasts encoded together"},
    "forecast/separation/rollout.py": {"_DECODE_NUMBERS": "numbers decoded at once"},
    "metric/ground/base.py": {"_BLOCK_STEPS": "steps mapped at once"},
    "metric/distance_network.py": {
        "BLOCK_NUMBERS": "numbers of a block",
        "_BATCH_STEPS": "steps at once",
        "TILE_NUMBERS": "numbers of a tile",
        "MAX_KEPT_NUMBERS": "numbers kept for a backward pass, beyond which they are computed again",
    },
    "metric/tap/network.py": {"STRIPE_NUMBERS": "numbers of a stripe"},
    "sequences/sampling.py": {"_GROUP_ORDERS": "random orders that are tried"},
    "train/optimizer_step.py": {"_MAX_LISTED": "ids in a message"},
}


def skipped(node: ast.AST, file: str) -> bool:
    """Whether a node is left alone with all that is in it.

    >>> [skipped(ast.parse(line).body[0], "align/dtw.py") for line in ('raise ValueError("x" * 3)', "x = 3")]
    [True, False]
    """
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return True  # what an error says; asserts are the library talking to itself
    if isinstance(node, ast.FunctionDef):
        return node.name in MESSAGES | FOR_TESTS
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in {"warnings.warn", "warn", "TypeVar", "cast", "typing.cast"}
    if isinstance(node, ast.keyword):
        return node.arg == "stacklevel"
    return (isinstance(node, ast.If) and _for_types(node)) or _block(node, file)


def _for_types(node: ast.If) -> bool:
    return "TYPE_CHECKING" in ast.unparse(node.test)


def _block(node: ast.AST, file: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(target, ast.Name) and target.id in BLOCKS.get(file, {}) for target in targets)


def parts(node: ast.AST) -> list[ast.AST]:
    """What is in a node, without its annotations and decorators."""
    names = [name for name in node._fields if name not in {"annotation", "returns", "decorator_list", "bases"}]
    values = [getattr(node, name, None) for name in names]
    flat = [part for value in values for part in (value if isinstance(value, list) else [value])]
    return [part for part in flat if isinstance(part, ast.AST)]
