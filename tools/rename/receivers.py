# ruff: noqa
"""receivers.py ROOT OUT.json: the class of the receiver of every attribute and method call, as mypy infers it.

OUT: file -> {"line:column:end_line:end_column:attribute": [class names] | "?"} for what is no module.
"""

import json, os, sys
from pathlib import Path
from mypy import build, options as mypy_options, find_sources
from mypy.fscache import FileSystemCache
from mypy.nodes import MemberExpr, MypyFile, Node, RefExpr, SymbolTableNode, TypeInfo
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    Overloaded,
    TupleType,
    TypeType,
    TypeVarType,
    UnionType,
    get_proper_type,
    LiteralType,
    TypedDictType,
)

root = Path(sys.argv[1]).resolve()
os.chdir(root)
o = mypy_options.Options()
o.export_types = True
o.preserve_asts = True
o.incremental = True
o.sqlite_cache = False
o.cache_dir = "/tmp/hb/mypycache"
o.ignore_missing_imports = True
o.explicit_package_bases = True
o.namespace_packages = True
o.mypy_path = ["src", "."] if "--flat" not in sys.argv else ["src", "tests", "."]
o.check_untyped_defs = True
o.python_executable = sys.argv[3]
o.python_version = (3, 11)
o.show_traceback = True
o.allow_redefinition = True
o.local_partial_types = True
sources = find_sources.create_source_list(
    ["src", "benchmarks", "tests"] + (["docs"] if any(root.glob("docs/**/*.py")) else []), o, FileSystemCache()
)
result = build.build(sources, o, extra_builtins_path=None) if False else build.build(sources, o)
print(len(result.errors), "errors", file=sys.stderr)


def names(t):
    t = get_proper_type(t)
    if t is None or isinstance(t, AnyType):
        return {"?"}
    if isinstance(t, Instance):
        return {t.type.fullname}
    if isinstance(t, UnionType):
        return set().union(*(names(x) for x in t.items))
    if isinstance(t, TypeVarType):
        return names(t.upper_bound)
    if isinstance(t, TupleType):
        return names(t.partial_fallback)
    if isinstance(t, TypeType):
        return names(t.item)
    if isinstance(t, CallableType):
        return names(t.ret_type) if t.is_type_obj() else {"builtins.function"}
    if isinstance(t, Overloaded):
        return names(t.items[0]) if t.is_type_obj() else {"builtins.function"}
    if isinstance(t, NoneType):
        return {"None"}
    if isinstance(t, LiteralType):
        return names(t.fallback)
    if isinstance(t, TypedDictType):
        return {"builtins.dict"}
    return {"?"}


SKIP = {
    "node",
    "info",
    "fullname",
    "names",
    "type",
    "unanalyzed_type",
    "defs_info",
    "plugin_deps",
    "typ",
    "original_def",
    "definition",
    "ref",
    "mro",
}
attributes = {}


def fields(cls):
    if cls not in attributes:
        attributes[cls] = sorted(
            {a for c in cls.__mro__ for a in getattr(c, "__mypyc_attrs__", ()) if not a.startswith("__")} - SKIP
        )
    return attributes[cls]


def member_expressions(tree):
    todo, seen = [tree], set()
    while todo:
        node = todo.pop()
        if isinstance(node, (list, tuple)):
            todo.extend(node)
        elif isinstance(node, Node) and id(node) not in seen and not isinstance(node, (TypeInfo, SymbolTableNode)):
            seen.add(id(node))
            if isinstance(node, MemberExpr):
                yield node
            for a in fields(type(node)):
                try:
                    value = getattr(node, a)
                except AttributeError:
                    continue
                if isinstance(value, (Node, list, tuple)):
                    todo.append(value)


out = {}
for state in result.graph.values():
    if state.path is None or state.tree is None or not str(Path(state.path).resolve()).startswith(str(root)):
        continue
    mine = out.setdefault(str(Path(state.path).resolve().relative_to(root)), {})
    for e in member_expressions(state.tree):
        receiver = e.expr
        if isinstance(receiver, RefExpr) and isinstance(receiver.node, MypyFile):
            continue
        t = result.types.get(receiver)
        key = f"{e.line}:{e.column}:{e.end_line}:{e.end_column}:{e.name}"
        found = set(mine.get(key, [])) | (names(t) if t is not None else {"?"})
        mine[key] = sorted(found)
mro = {}
for state in result.graph.values():
    if state.tree is None:
        continue
    for name, sym in state.tree.names.items():
        n = sym.node
        if type(n).__name__ == "TypeInfo" and n.fullname.startswith(state.id):
            mro[n.fullname] = [c.fullname for c in n.mro]
json.dump({"receivers": out, "mro": mro}, open(sys.argv[2], "w"))
n = sum(map(len, out.values()))
q = sum(v == ["?"] for f in out.values() for v in f.values())
print(len(out), "files", n, "attributes", q, "unknown")
