# ruff: noqa
"""codemod.py ROOT TABLE.tsv... [--apply]: module moves and symbol/method/param renames over src, tests, benchmarks, docs."""

import ast, re, sys, io, tokenize, subprocess, collections, pathlib

ROOT = pathlib.Path(sys.argv[1]).resolve()
APPLY = "--apply" in sys.argv
TABLES = [a for a in sys.argv[2:] if a.endswith(".tsv")]  # a later table's row wins
import json

_inferred = [a for a in sys.argv[2:] if a.endswith(".json")]  # of receivers.py
_inferred = json.load(open(_inferred[0])) if _inferred else {"receivers": {}, "mro": {}}
RECEIVERS, MRO = _inferred["receivers"], _inferred["mro"]
problems = []


def problem(*a):
    problems.append(" ".join(map(str, a)))


# ---------- table
mod_moves, sym, meth, par, sym_moves = {}, {}, {}, {}, {}
for t in TABLES:
    for n, line in enumerate(open(t, encoding="utf-8"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        f = line.rstrip("\n").split("\t")
        if len(f) < 3:
            problem("short line", t, n, line.strip())
            continue
        kind, old, new = f[0].strip(), f[1].strip(), f[2].strip()
        if kind == "module":
            mod_moves[old] = new
        elif kind == "symbol":
            m, _, s = old.rpartition(".")
            sym[(m, s)] = new
        elif kind == "method":
            m, c, s = old.rsplit(".", 2)
            meth[(m, c, s)] = new
        elif kind == "move":
            m, _, s = old.rpartition(".")
            sym_moves[(m, s)] = new
        elif kind == "param":
            fn, p = old.rstrip(")").split("(")
            par[(fn, p)] = new


# ---------- files and modules
def dotted(path, base):
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


files = {}  # path -> (dotted or None)
for base, top in ((ROOT / "src", "timelike"), (ROOT, "benchmarks"), (ROOT / "tests", ""), (ROOT, "docs")):
    for p in sorted((base / top).glob("**/*.py")):
        if ".venv" in p.parts or "build" in p.parts:
            continue
        files[p] = dotted(p, base) if top in ("timelike", "benchmarks") else "tests:" + dotted(p, base)
modules = {d: p for p, d in files.items() if not d.startswith("tests:")}
modules["timelike.native._kernels"] = None


def is_pkg(m):
    return modules.get(m) is not None and modules[m].name == "__init__.py"


def moved(m):
    parts = m.split(".")
    for i in range(len(parts), 0, -1):
        pre = ".".join(parts[:i])
        if pre in mod_moves:
            return ".".join([mod_moves[pre], *parts[i:]])
    return m


for m in mod_moves:
    if m not in modules:
        problem("no such module", m)
trees = {p: ast.parse(p.read_bytes()) for p in files}


# ---------- namespaces
def absolute(cur, cur_is_pkg, node):
    if not node.level:
        return node.module or ""
    parts = cur.split(".")
    if not cur_is_pkg:
        parts = parts[:-1]
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join(parts + ([node.module] if node.module else []))


ns = collections.defaultdict(dict)
classes = {}  # (mod, name) -> ClassDef


def module_stmts(body):
    for s in body:
        yield s
        for f in ("body", "orelse", "finalbody"):
            if isinstance(s, (ast.If, ast.Try, ast.With)) and getattr(s, f, None):
                yield from module_stmts(getattr(s, f))
        if isinstance(s, ast.Try):
            for h in s.handlers:
                yield from module_stmts(h.body)


def target_names(t):
    if isinstance(t, ast.Name):
        yield t.id
    elif isinstance(t, (ast.Tuple, ast.List)):
        for e in t.elts:
            yield from target_names(e)
    elif isinstance(t, ast.Starred):
        yield from target_names(t.value)


for p, d in files.items():
    pk = p.name == "__init__.py"
    for s in module_stmts(trees[p].body):
        if isinstance(s, ast.ImportFrom):
            base = absolute(d.removeprefix("tests:"), pk, s)
            for a in s.names:
                b = a.asname or a.name
                ns[d].setdefault(b, ("from", base, a.name))
        elif isinstance(s, ast.Import):
            for a in s.names:
                ns[d].setdefault(
                    a.asname or a.name.split(".")[0], ("module", a.name if a.asname else a.name.split(".")[0])
                )
        elif isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            ns[d][s.name] = ("def", d, s.name)
            if isinstance(s, ast.ClassDef):
                classes[(d, s.name)] = s
        elif isinstance(s, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            for t in s.targets if isinstance(s, ast.Assign) else [s.target]:
                for n in target_names(t):
                    ns[d][n] = ("def", d, n)


def resolve(mod, name, seen=()):
    """-> ("module", m) | ("symbol", m, n) | None"""
    if (mod, name) in seen:
        return None
    hit = ns.get(mod, {}).get(name)
    if hit is None or (hit[0] == "from" and hit[1] == mod):
        full = f"{mod}.{name}" if mod else name
        return ("module", full) if full in modules else (("ext", full) if mod not in modules else None)
    if hit[0] == "module":
        return (
            ("module", hit[1])
            if hit[1] in modules or hit[1].split(".")[0] in ("timelike", "benchmarks")
            else ("ext", hit[1])
        )
    if hit[0] == "def":
        return ("symbol", hit[1], hit[2])
    base, n = hit[1], hit[2]
    if base not in modules:
        if f"{base}.{n}" in modules:
            return ("module", f"{base}.{n}")
        return ("ext", f"{base}.{n}")
    r = resolve(base, n, (*seen, (mod, name)))
    if base == "timelike" and r is None:
        return top_export(n)
    return r


def top_export(n):
    for m in modules:
        if m.startswith("timelike.") and m.count(".") == 1 and is_pkg(m) and n in ns[m]:
            return resolve(m, n)
    return None


for m, s in sym:
    if ns.get(m, {}).get(s, ("",))[0] != "def":
        problem("symbol not defined", m, s)
# ---------- class hierarchy
parents = collections.defaultdict(set)
children = collections.defaultdict(set)


def expr_target(d, e):
    if isinstance(e, ast.Subscript):
        e = e.value
    if isinstance(e, ast.Name):
        return resolve(d, e.id)
    if isinstance(e, ast.Attribute):
        v = expr_target(d, e.value)
        if v and v[0] == "module":
            return attr_of(v[1], e.attr)
    return None


def attr_of(m, a):
    if f"{m}.{a}" in modules and ns.get(m, {}).get(a, ("",))[0] != "def":
        return ("module", f"{m}.{a}")
    r = resolve(m, a)
    if r is None and m == "timelike":
        return top_export(a)
    return r


for (d, c), node in classes.items():
    for b in node.bases:
        r = expr_target(d, b)
        if r and r[0] == "symbol":
            parents[(d, c)].add(r[1:])
            children[r[1:]].add((d, c))


def closure(k, rel):
    out, todo = set(), [k]
    while todo:
        for x in rel[todo.pop()]:
            if x not in out:
                out.add(x)
                todo.append(x)
    return out


def members(node):
    out = set()
    for s in ast.walk(node):
        if s is not node and isinstance(s, ast.ClassDef):
            continue
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)) and s in node.body:
            out.add(s.name)
    for s in module_stmts(node.body):
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
            out.add(s.name)
        elif isinstance(s, ast.AnnAssign):
            out |= set(target_names(s.target))
        elif isinstance(s, ast.Assign):
            for t in s.targets:
                out |= set(target_names(t))
    for s in ast.walk(node):  # self.x = ...
        if (
            isinstance(s, ast.Attribute)
            and isinstance(s.ctx, ast.Store)
            and isinstance(s.value, ast.Name)
            and s.value.id == "self"
        ):
            out.add(s.attr)
    return out


mem = {k: members(n) for k, n in classes.items()}
definers = collections.defaultdict(set)
for k, ms in mem.items():
    if k[0].startswith("timelike"):
        for m in ms:
            definers[m].add(k)
for m, c, s in meth:
    if (m, c) not in classes:
        problem("no such class", m, c)
    elif s not in mem[(m, c)]:
        problem("no such member", m, c, s)
meth_by_name = collections.defaultdict(dict)
for (m, c, s), new in meth.items():
    meth_by_name[s][(m, c)] = new


def family(k):
    return {k} | closure(k, parents) | closure(k, children)


fam_cache = {}


def member_new(k, s):
    """new name of member s of class k, looking at the table for the class, its bases and subclasses"""
    if s not in meth_by_name:
        return None
    if k not in fam_cache:
        fam_cache[k] = [k, *closure(k, parents), *closure(k, children)]
    for q in fam_cache[k]:
        if q in meth_by_name[s]:
            return meth_by_name[s][q]
    # siblings through a common base that defines it
    for b in closure(k, parents):
        for q in closure(b, children):
            if q in meth_by_name[s] and s in mem.get(b, ()):
                return meth_by_name[s][q]
    return None


# a member that other objects have too (str.strip, np.roll) is never renamed by its name alone
FOREIGN = (
    set(dir(str))
    | set(dir(list))
    | set(dir(dict))
    | set(dir(set))
    | set(dir(int))
    | set(dir(float))
    | set(dir(pathlib.Path))
    | set(dir(re.Pattern))
    | set(dir(re.Match))
    | set(dir(bytes))
    | set(dir(tuple))
    | set(dir(collections.Counter))
)
FOREIGN |= set(
    subprocess.run(
        [
            [a for a in sys.argv if a.endswith("/python")][-1],
            "-c",
            "import numpy, torch; print(*{n for o in (numpy, numpy.ndarray, torch, torch.Tensor, torch.nn.Module, torch.nn.functional) for n in dir(o)})",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
)
unique_member = {}
for s, where in meth_by_name.items():
    news = set(where.values())
    others = {k for k in definers[s] if member_new(k, s) is None}
    if len(news) == 1 and not others and s not in FOREIGN:
        unique_member[s] = next(iter(news))
ambiguous = collections.Counter()


# ---------- what mypy inferred
def receiver_types(path, n):
    mine = RECEIVERS.get(str(path.relative_to(ROOT)), {})
    return mine.get(f"{n.lineno}:{n.col_offset}:{n.end_lineno}:{n.end_col_offset}:{n.attr}")


def member_of(fullname, s):
    """New name of member s of the class, whose bases may be of the library; None where it keeps its name."""
    for base in MRO.get(fullname, [fullname]):
        m, _, c = base.rpartition(".")
        if m.startswith("tests."):
            m = "tests:" + m.removeprefix("tests.")
        if (m, c) in classes and (new := member_new((m, c), s)):
            return new
    return None


# ---------- edit one file
class Scope:
    def __init__(self, node, parent, kind):
        self.node, self.parent, self.kind, self.names, self.globals = node, parent, kind, {}, set()


def scope_bindings(sc, d, pk):
    body = sc.node

    def walk(n):
        for c in ast.iter_child_nodes(n):
            if isinstance(c, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                sc.names.setdefault(c.name, ("local",))
                continue
            if isinstance(c, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                for w in ast.walk(c):
                    if isinstance(w, ast.NamedExpr):
                        sc.names.setdefault(w.target.id, ("local",))
                continue
            if isinstance(c, ast.Global):
                sc.globals |= set(c.names)
            if isinstance(c, ast.ImportFrom):
                base = absolute(d.removeprefix("tests:"), pk, c)
                for a in c.names:
                    sc.names[a.asname or a.name] = ("from", base, a.name, a.asname)
            elif isinstance(c, ast.Import):
                for a in c.names:
                    sc.names[a.asname or a.name.split(".")[0]] = (
                        "module",
                        a.name if a.asname else a.name.split(".")[0],
                    )
            elif isinstance(c, ast.Name) and isinstance(c.ctx, (ast.Store, ast.Del)):
                sc.names.setdefault(c.id, ("local",))
            elif isinstance(c, ast.ExceptHandler) and c.name:
                sc.names.setdefault(c.name, ("local",))
            elif isinstance(c, (ast.MatchAs, ast.MatchStar)) and c.name:
                sc.names.setdefault(c.name, ("local",))
            walk(c)

    walk(body)
    if isinstance(body, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        a = body.args
        for x in [
            *a.posonlyargs,
            *a.args,
            *a.kwonlyargs,
            *([a.vararg] if a.vararg else []),
            *([a.kwarg] if a.kwarg else []),
        ]:
            sc.names[x.arg] = ("param",)


DOT = re.compile(r"\btimelike(?:\.[A-Za-z_]\w*)+")


def new_dotted(text):
    parts = text.split(".")
    for i in range(len(parts), 0, -1):
        m = ".".join(parts[:i])
        if m in modules:
            rest = parts[i:]
            head = moved(m)
            if rest:
                r = attr_of(m, rest[0])
                if r and r[0] == "symbol":
                    n = sym.get(r[1:], None)
                    if n and r[2] == rest[0]:
                        rest = [n, *rest[1:]]
                    if len(rest) > 1:
                        nn = member_new(r[1:], rest[1])
                        if nn:
                            rest[1] = nn
            return ".".join([head, *rest])
    return text


# ---------- names at the top: only these; all others are had from their package
TOP = set(
    """Sequences load load_model save_model concat DTW DDTW WDTW ADTW ERP EDR LCSS MSM TWE Euclidean SoftDTW GDTW OT Sinkhorn OPW
    Alignment Matches barycenter subsequence matrix_profile Rocket CausalEncoder RecurrentEncoder EmbeddingClassifier
    EmbeddingRegressor Discriminant SiameseGRU CoupledGRU TAP Fused Neighbors NeighborsRegressor KMeans KMedoids Prototypes Verifier
    Classifier Regressor Separation SRVP compare Trainer Index""".split()
)


def new_home(r):
    """Package of a symbol after all moves, and its new name."""
    module = sym_moves.get(r[1:], moved(r[1]))
    return module.split(".")[1], sym.get(r[1:], r[2])


_top_level = {}  # name that the top gives today -> what to write after "tl."
for m_ in modules:
    if m_.startswith("timelike.") and m_.count(".") == 1 and is_pkg(m_):
        for n_ in ns[m_]:
            r_ = resolve(m_, n_)
            if r_ and r_[0] == "symbol" and not n_.startswith("_") and r_[1].startswith("timelike.") and r_[2] == n_:
                home, new_ = new_home(r_)
                _top_level[n_] = new_ if new_ in TOP else f"{home}.{new_}"
TL = re.compile(r"\btl\.([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?")


def at_top(m):
    first, second = m[1], m[2]
    if first == "recognize" and second in _top_level:
        r_ = resolve("timelike.recognize", second)
        return f"tl.{new_home(r_)[0]}.{new_home(r_)[1]}" if r_ and r_[0] == "symbol" else m[0]
    tail = f".{second}" if second else ""
    if f"timelike.{first}" in modules:
        head = moved(f"timelike.{first}").removeprefix("timelike.")
        if second:
            r_ = attr_of(f"timelike.{first}", second)
            if r_ and r_[0] == "symbol" and r_[1:] in sym and r_[2] == second:
                tail = "." + sym[r_[1:]]
            elif r_ and r_[0] == "module":
                return "tl." + moved(r_[1]).removeprefix("timelike.")
        return f"tl.{head}{tail}"
    return f"tl.{_top_level.get(first, first)}{tail}"


# names in prose and in examples: only those that mean one thing in all tables and that nothing else of ours has
_news = collections.defaultdict(set)
for (m, n), new in sym.items():
    _news[n].add(new)
for (m, c, n), new in meth.items():
    _news[n].add(new)
_defined = collections.defaultdict(set)
for d_, names_ in ns.items():
    if d_.startswith("timelike"):
        for n, h in names_.items():
            if h[0] == "def":
                _defined[n].add(sym.get((d_, n)))
for k_, ms_ in mem.items():
    if k_[0].startswith("timelike"):
        for n in ms_:
            _defined[n].add(member_new(k_, n))
SAFE = {
    n: next(iter(v))
    for n, v in _news.items()
    if len(v) == 1 and n not in FOREIGN and None not in _defined[n] and len(n) > 2
}
TICKS = re.compile(r"`[^`\n]+`")
WORD = re.compile(r"(?<![\w-])([A-Za-z_]\w*)(?![\w-])")
CODE = re.compile(r"^(\s*(?:>>>|\.\.\.) )(.*)$", re.M)
MEMBER = re.compile(r"(?<=[.\w)\]])\.([A-Za-z_]\w*)|\b([A-Za-z_]\w*)(?==[^=])")


def in_code(text):
    return MEMBER.sub(lambda m: "." + SAFE.get(m[1], m[1]) if m[1] else SAFE.get(m[2], m[2]), text)


BARE = re.compile(r"(?<![\w.-])([A-Za-z_]\w*)(?![\w-]|=[^=])")


def in_module(d, params=()):
    """Names as the module of the text has them."""
    params = dict(params)

    def new(m):
        if m[1] in params:
            return params[m[1]]
        r = resolve(d, m[1]) if d else None
        if r and r[0] == "symbol" and r[2] == m[1]:
            return sym.get(r[1:], m[1])
        return m[1]

    return lambda text: BARE.sub(new, text)


def in_prose(text, d=None, params=()):
    own = in_module(d, params)
    text = TL.sub(at_top, text)
    text = CODE.sub(lambda m: m[1] + own(in_code(m[2])), text)
    return TICKS.sub(lambda m: WORD.sub(lambda w: SAFE.get(w[1], w[1]), own(m[0])), text)


FENCE = re.compile(r"^```(?:python|py|pycon)[^\n]*\n(.*?)^```", re.M | re.S)


def in_markdown(text):
    return in_prose(FENCE.sub(lambda m: m[0].replace(m[1], in_code(m[1])), text))


def edit(path):
    d = files[path]
    pk = path.name == "__init__.py"
    src = path.read_bytes()
    tree = trees[path]
    lines = src.split(b"\n")
    starts = [0]
    for l in lines:
        starts.append(starts[-1] + len(l) + 1)

    def at(line, col):
        return starts[line - 1] + col

    edits, own_params, put_later = {}, {}, []

    def put(a, b, new, why=""):
        old = src[a:b].decode()
        if old != new:
            if (a, b) in edits and edits[(a, b)] != new:
                problem(path, "conflict", old, edits[(a, b)], new)
            edits[(a, b)] = new

    def put_name(a, b, old, new):
        if src[a:b].decode() != old:
            problem(
                path, "position", old, new, src[max(0, a - 20) : b + 20].decode(errors="replace").replace("\n", " ")
            )
        else:
            put(a, b, new)

    here_new = moved(d) if not d.startswith("tests:") else d
    # statements of imports
    all_names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
        a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)
    }

    def lookup(name, sc):
        first = True
        while sc is not None:
            if sc.kind == "class" and not first:
                sc = sc.parent
                continue
            first = False if sc.kind != "comp" else first
            if name in sc.globals:
                return modscope_hit(name)
            if name in sc.names:
                if sc.kind == "module":
                    return modscope_hit(name)
                return sc.names[name]
            sc = sc.parent
        return None

    def modscope_hit(name):
        h = ns[d].get(name)
        return h

    def hit_target(h, name):
        """what a binding stands for, and whether the local spelling follows a rename"""
        if h is None or h[0] in ("local", "param"):
            return None, False
        if h[0] == "module":
            m = h[1]
            return (("module", m) if m.split(".")[0] in ("timelike", "benchmarks") else None), False
        if h[0] == "def":
            return ("symbol", h[1], h[2]), True
        base, n = h[1], h[2]
        if f"{base}.{n}" in modules and ns.get(base, {}).get(n, ("",))[0] != "def":
            return ("module", f"{base}.{n}"), n == name
        r = attr_of(base, n) if base in modules else None
        return r, n == name

    def new_binding(r, name):
        if r is None:
            return name
        if r[0] == "symbol":
            return sym.get((r[1], r[2]), name) if r[2] == name else name
        if r[0] == "module":
            m2 = moved(r[1])
            return m2.split(".")[-1] if r[1].split(".")[-1] == name else name
        return name

    def import_text(node):
        base = absolute(d.removeprefix("tests:"), pk, node)
        groups = collections.OrderedDict()
        changed = False
        for a in node.names:
            full = f"{base}.{a.name}"
            if a.name in flat and flat[a.name][0] == full and a.asname is None:
                groups.setdefault(moved(full), []).extend(flat[a.name][1])
                continue
            if a.name == "*":
                groups.setdefault(moved(base), []).append("*")
                continue
            if full in modules and ns.get(base, {}).get(a.name, ("",))[0] != "def":
                m2 = moved(full)
                nb, _, nn = m2.rpartition(".")
                oldn = a.name
            elif base in modules:
                r = attr_of(base, a.name)
                nb = moved(base)
                nn = a.name
                oldn = a.name
                if r and r[0] == "symbol" and r[2] == a.name:
                    nn = sym.get((r[1], r[2]), a.name)
                    if r[1:] in sym_moves and (base == r[1] or d == r[1]):
                        nb = sym_moves[r[1:]]
                    elif r[1] != base and (base == "timelike.recognize" or (base == "timelike" and nn not in TOP)):
                        nb = f"timelike.{new_home(r)[0]}"
            else:
                nb, nn = base, a.name
            as_ = a.asname
            if as_ is not None and as_ == a.name:
                as_ = nn  # explicit re-export keeps its form
            if as_ is None and nn != a.name and nn in all_names and a.name not in flat:
                problem(path, f"line {node.lineno}: new name {nn!r} (was {a.name}) already used in this file")
            groups.setdefault(nb, []).append(nn + (f" as {as_}" if as_ else ""))
        out = []
        indent = " " * node.col_offset
        for nb, names in groups.items():
            if node.level and here_new.startswith("timelike") and nb.startswith("timelike"):
                cur = here_new.split(".")
                cur = cur if pk else cur[:-1]
                tgt = nb.split(".")
                k = 0
                while k < min(len(cur), len(tgt)) and cur[k] == tgt[k]:
                    k += 1
                rel = "." * (len(cur) - k + 1) + ".".join(tgt[k:])
            else:
                rel = nb
            text = f"from {rel} import {', '.join(names)}"
            if (
                len(indent + text) > 118
                or "\n" in src[at(node.lineno, node.col_offset) : at(node.end_lineno, node.end_col_offset)].decode()
            ):
                text = f"from {rel} import (\n" + "".join(f"{indent}    {n},\n" for n in names) + f"{indent})"
            out.append(text)
        return ("\n" + indent).join(out), groups

    flat = {}  # old module binding -> new module: its attributes become names of their own
    if True:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                base = absolute(d.removeprefix("tests:"), pk, node)
                for a in node.names:
                    full = f"{base}.{a.name}"
                    if (
                        full in modules
                        and full.startswith("timelike")
                        and a.asname is None
                        and ns.get(base, {}).get(a.name, ("",))[0] != "def"
                    ):
                        nn = moved(full).split(".")[-1]
                        if nn != a.name and nn in all_names:
                            uses = [x for x in ast.walk(tree) if isinstance(x, ast.Name) and x.id == a.name]
                            attrs = [
                                x
                                for x in ast.walk(tree)
                                if isinstance(x, ast.Attribute)
                                and isinstance(x.value, ast.Name)
                                and x.value.id == a.name
                            ]
                            new_names = {sym.get((full, x.attr), x.attr) for x in attrs}
                            if len(uses) == len(attrs) and not (new_names & all_names):
                                flat[a.name] = (full, sorted(new_names))

    def visit_import(node):
        a, b = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)
        if isinstance(node, ast.ImportFrom):
            base = absolute(d.removeprefix("tests:"), pk, node)
            if not base.startswith("timelike"):
                return
            text, groups = import_text(node)
            old_names = [n.name + (f" as {n.asname}" if n.asname else "") for n in node.names]
            same = (
                len(groups) == 1
                and next(iter(groups)) == base
                and next(iter(groups.values())) == old_names
                and (not node.level or here_new == d)
            )
            if not same:
                old = src[a:b].decode()
                if "#" in old:
                    com = " ".join(re.findall(r"#.*", old))
                    problem(path, f"line {node.lineno}: comment in import lost: {com}")
                put(a, b, text)
        else:
            names = [moved(n.name) + (f" as {n.asname}" if n.asname else "") for n in node.names]
            if names != [n.name + (f" as {n.asname}" if n.asname else "") for n in node.names]:
                put(a, b, "import " + ", ".join(names))

    def target(e, sc):
        if isinstance(e, ast.Name):
            return hit_target(lookup(e.id, sc), e.id)[0]
        if isinstance(e, ast.Attribute):
            v = target(e.value, sc)
            if v and v[0] == "module":
                return attr_of(v[1], e.attr)
            if v and v[0] == "symbol" and False:
                pass
        return None

    def attr_span(n):
        end = at(n.end_lineno, n.end_col_offset)
        return end - len(n.attr.encode()), end

    def enclosing_class(sc):
        while sc is not None:
            if sc.kind == "class":
                return sc
            sc = sc.parent
        return None

    def walk(n, sc, cls):
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            visit_import(n)
            return
        if isinstance(n, ast.Name):
            h = lookup(n.id, sc)
            if sc.kind == "class" and n.id in sc.names and isinstance(n.ctx, ast.Load):
                bound = [
                    x.lineno
                    for x in sc.node.body
                    if getattr(x, "name", None) == n.id
                    or (
                        isinstance(x, (ast.Assign, ast.AnnAssign))
                        and n.id
                        in {
                            y for t in (x.targets if isinstance(x, ast.Assign) else [x.target]) for y in target_names(t)
                        }
                    )
                ]
                if bound and min(bound) >= n.lineno:
                    h = modscope_hit(n.id)
                elif cls is not None and (new := member_new(cls, n.id)):
                    put_name(at(n.lineno, n.col_offset), at(n.end_lineno, n.end_col_offset), n.id, new)
                    return
            r, follows = hit_target(h, n.id)
            if follows:
                nb = new_binding(r, n.id)
                if nb != n.id:
                    put_name(at(n.lineno, n.col_offset), at(n.end_lineno, n.end_col_offset), n.id, nb)
            if sc and h == ("param",):
                s2 = sc
                while s2 and not (s2.kind == "function" and n.id in s2.names):
                    s2 = s2.parent
                if s2 and getattr(s2, "params", {}).get(n.id):
                    put_name(at(n.lineno, n.col_offset), at(n.end_lineno, n.end_col_offset), n.id, s2.params[n.id])
            return
        if isinstance(n, ast.Attribute):
            if isinstance(n.value, ast.Name) and n.value.id in flat:
                v = target(n.value, sc)
                if v == ("module", flat[n.value.id][0]):
                    put(at(n.lineno, n.col_offset), at(n.end_lineno, n.end_col_offset), sym.get((v[1], n.attr), n.attr))
                    return
            v = target(n.value, sc)
            done = False
            if v and v[0] == "module" and v[1].split(".")[0] == "timelike":
                r = attr_of(v[1], n.attr)
                done = True
                a, b = attr_span(n)
                if (
                    r
                    and r[0] == "symbol"
                    and r[2] == n.attr
                    and r[1] != v[1]
                    and v[1] in ("timelike", "timelike.recognize")
                ):
                    home, new = new_home(r)
                    if new not in TOP or v[1] != "timelike":
                        root = n.value
                        while isinstance(root, ast.Attribute):
                            root = root.value
                        if target(root, sc) == ("module", "timelike"):
                            put(at(n.lineno, n.col_offset), b, f"{root.id}.{home}.{new}")
                            return
                        problem(path, f"line {n.lineno}: {ast.unparse(n)} is {home}.{new} now")
                if r and r[0] == "symbol" and r[1:] in sym_moves and v[1] == r[1]:
                    problem(path, f"line {n.lineno}: {ast.unparse(n)} moved to {sym_moves[r[1:]]}")
                if r and r[0] == "symbol" and r[2] == n.attr and (r[1], r[2]) in sym:
                    put(a, b, sym[(r[1], r[2])])
                elif r and r[0] == "module" and moved(r[1]) != r[1]:
                    o, w = r[1].split("."), moved(r[1]).split(".")
                    if moved(v[1]) == ".".join(w[:-1]):
                        put(a, b, w[-1])
                    else:
                        root = n
                        while isinstance(root, ast.Attribute):
                            root = root.value
                        rv = target(root, sc)
                        if rv == ("module", "timelike"):
                            put(at(n.lineno, n.col_offset), b, root.id + "." + ".".join(w[1:]))
                            return
                        problem(path, f"line {n.lineno}: module attribute {ast.unparse(n)} moved to {'.'.join(w)}")
            if not done:
                new = None
                if isinstance(n.value, ast.Name) and n.value.id in ("self", "cls") and cls is not None:
                    new = member_new(cls, n.attr)
                    known = n.attr in mem.get(cls, ()) or any(
                        n.attr in mem.get(q, ()) for q in closure(cls, parents) | closure(cls, children)
                    )
                    if new is None and not known:
                        new = unique_member.get(n.attr)
                elif (
                    isinstance(n.value, ast.Call)
                    and isinstance(n.value.func, ast.Name)
                    and n.value.func.id == "super"
                    and cls is not None
                ):
                    new = member_new(cls, n.attr)
                elif v and v[0] == "symbol" and v[1:] in classes:
                    new = member_new(v[1:], n.attr)
                elif n.attr in meth_by_name and (types := receiver_types(path, n)) and types != ["?"]:
                    news = {member_of(t, n.attr) for t in types if t not in ("?", "None")} - {None}
                    if len(news) > 1:
                        problem(path, f"line {n.lineno}: {ast.unparse(n)[:60]} of {types} -> {news}")
                    elif news:
                        new = next(iter(news))
                elif v is None or v[0] == "symbol":
                    new = unique_member.get(n.attr)
                    base_hit = lookup(n.value.id, sc) if isinstance(n.value, ast.Name) else None
                    foreign_module = (
                        base_hit is not None and base_hit[0] == "module" and hit_target(base_hit, n.value.id)[0] is None
                    )
                    if foreign_module:
                        new = None
                    elif new is None and n.attr in meth_by_name:
                        ambiguous[n.attr] += 1
                        problem(
                            path,
                            f"line {n.lineno}: ambiguous member .{n.attr} in {ast.unparse(n)[:60]} -> {set(meth_by_name[n.attr].values())}",
                        )
                if new:
                    a, b = attr_span(n)
                    put_name(a, b, n.attr, new)
            walk(n.value, sc, cls)
            return
        if isinstance(n, ast.Call):
            r = target(n.func, sc)
            fn = ".".join(r[1:]) if r and r[0] == "symbol" else None
            owners = receiver_types(path, n.func) or [] if isinstance(n.func, ast.Attribute) else []
            if (
                isinstance(n.func, ast.Attribute)
                and isinstance(n.func.value, ast.Name)
                and n.func.value.id in ("self", "cls")
                and cls
            ):
                owners = [".".join(cls)]
            for kw in n.keywords:
                if kw.arg:
                    new = par.get((fn, kw.arg)) if fn else None
                    if n.func.attr == "_replace" if isinstance(n.func, ast.Attribute) else False:
                        new = next(filter(None, (member_of(owner, kw.arg) for owner in owners)), None)
                    for owner in owners if new is None and not fn else ():
                        for base in MRO.get(owner, [owner]):
                            new = new or par.get((f"{base}.{n.func.attr}", kw.arg))
                    if new is None and r and r[0] == "symbol" and r[1:] in classes:
                        new = member_new(r[1:], kw.arg)
                        if new is None:
                            for q in closure(r[1:], parents):
                                new = new or par.get((".".join(q), kw.arg))
                    if new:
                        a = at(kw.lineno, kw.col_offset)
                        put(a, a + len(kw.arg.encode()), new)
            name = n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "")
            if (
                name in ("setattr", "delattr", "getattr", "hasattr", "object")
                and len(n.args) >= 2
                and isinstance(n.args[1], ast.Constant)
                and isinstance(n.args[1].value, str)
            ):
                v = target(n.args[0], sc)
                s = n.args[1].value
                new = None
                if v and v[0] == "module":
                    q = attr_of(v[1], s)
                    if q and q[0] == "symbol" and q[2] == s:
                        new = sym.get((q[1], s))
                    elif q and q[0] == "module":
                        new = moved(q[1]).split(".")[-1]
                elif v and v[0] == "symbol" and v[1:] in classes:
                    new = member_new(v[1:], s)
                else:
                    new = unique_member.get(s)
                if new and new != s:
                    c = n.args[1]
                    a, b = at(c.lineno, c.col_offset), at(c.end_lineno, c.end_col_offset)
                    put(a, b, src[a:b].decode().replace(s, new))
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            word = b"class" if isinstance(n, ast.ClassDef) else b"def"
            # position of the name
            i = src.index(word, at(n.lineno, n.col_offset)) + len(word)
            while src[i : i + 1].isspace():
                i += 1
            j = i + len(n.name.encode())
            assert src[i:j].decode() == n.name, (path, n.lineno)
            in_class = sc.kind == "class"
            if in_class and cls is not None and not isinstance(n, ast.ClassDef):
                new = member_new(cls, n.name)
                if new:
                    put(i, j, new)
            elif sc.kind == "module" and (d, n.name) in sym:
                put(i, j, sym[(d, n.name)])
            for dec in n.decorator_list:
                walk(dec, sc, cls)
            if isinstance(n, ast.ClassDef):
                for b in [*n.bases, *n.keywords]:
                    walk(b, sc, cls)
                inner = Scope(n, sc, "class")
                scope_bindings(inner, d, pk)
                own_params[id(n)] = {p: new for (f, p), new in par.items() if f == f"{d}.{n.name}"}
                k = (d, n.name) if sc.kind == "module" else cls
                for s in n.body:
                    walk(s, inner, k)
            else:
                inner = Scope(n, sc, "function")
                scope_bindings(inner, d, pk)
                qual = (d, cls[1], n.name) if in_class and cls else (d, n.name)
                fn = ".".join(qual)
                inner.params = {
                    p: new
                    for (f, p), new in par.items()
                    if f == fn or (in_class and n.name == "__init__" and cls and f == ".".join(cls))
                }
                own_params[id(n)] = inner.params
                for x in [*n.args.defaults, *[k for k in n.args.kw_defaults if k is not None]]:
                    walk(x, sc, cls)
                A = n.args
                for x in [
                    *A.posonlyargs,
                    *A.args,
                    *A.kwonlyargs,
                    *([A.vararg] if A.vararg else []),
                    *([A.kwarg] if A.kwarg else []),
                ]:
                    if x.annotation:
                        walk(x.annotation, sc, cls)
                    if x.arg in inner.params:
                        a = at(x.lineno, x.col_offset)
                        put(a, a + len(x.arg.encode()), inner.params[x.arg])
                if n.returns:
                    walk(n.returns, sc, cls)
                for s in n.body:
                    walk(s, inner, cls)
            return
        if isinstance(n, (ast.Global, ast.Nonlocal)):
            a, b = at(n.lineno, n.col_offset), at(n.end_lineno, n.end_col_offset)
            text = src[a:b].decode()
            for name in n.names:
                if (d, name) in sym:
                    text = re.sub(rf"\b{name}\b", sym[(d, name)], text)
            put(a, b, text)
            return
        if isinstance(n, ast.Subscript):
            for c in ast.walk(n.slice):
                if isinstance(c, ast.Constant) and isinstance(c.value, str) and c.value.isidentifier():
                    r = resolve(d, c.value)
                    if r and r[0] == "symbol" and r[2] == c.value and r[1:] in sym and c.value[0].isupper():
                        put_later.append((c, c.value, sym[r[1:]]))
        if isinstance(n, ast.Lambda):
            inner = Scope(n, sc, "function")
            scope_bindings(inner, d, pk)
            inner.params = {}
            for x in [*n.args.defaults, *[k for k in n.args.kw_defaults if k is not None]]:
                walk(x, sc, cls)
            walk(n.body, inner, cls)
            return
        if isinstance(n, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            inner = Scope(n, sc, "comp")
            inner.names = {}
            for g in n.generators:
                for t in target_names(g.target):
                    inner.names[t] = ("local",)
                for t in ast.walk(g.target):
                    if isinstance(t, ast.Name):
                        inner.names[t.id] = ("local",)
            for c in ast.iter_child_nodes(n):
                walk(c, inner, cls)
            return
        if sc.kind == "class" and isinstance(n, (ast.Assign, ast.AnnAssign)) and cls is not None:
            for t in n.targets if isinstance(n, ast.Assign) else [n.target]:
                if isinstance(t, ast.Name):
                    new = member_new(cls, t.id)
                    if new:
                        put(at(t.lineno, t.col_offset), at(t.end_lineno, t.end_col_offset), new)

        if (
            isinstance(n, ast.Constant)
            and isinstance(n.value, str)
            and isinstance(getattr(n, "kind", None), (str, type(None)))
        ):
            return
        for c in ast.iter_child_nodes(n):
            if (
                isinstance(n, (ast.Assign, ast.AnnAssign))
                and sc.kind == "class"
                and isinstance(c, ast.Name)
                and isinstance(c.ctx, ast.Store)
            ):
                continue
            walk(c, sc, cls)

    ms = Scope(tree, None, "module")
    scope_bindings(ms, d, pk)
    ms.names = {**{k: v for k, v in ms.names.items()}}
    # module-level assigned constants that are renamed
    for n in tree.body:
        walk(n, ms, None)

    # strings that name what is renamed: in __all__ and in the lists of a package, and beside the value in a call or an f-string
    def renamed_at(e):
        """(old, new) of a name or attribute that was renamed."""
        if isinstance(e, ast.Name):
            a, b, old = at(e.lineno, e.col_offset), at(e.end_lineno, e.end_col_offset), e.id
        elif isinstance(e, ast.Attribute):
            a, b = attr_span(e)
            old = e.attr
        else:
            return None
        return (old, edits[(a, b)]) if (a, b) in edits else None

    def put_string(c, old, new):
        a, b = at(c.lineno, c.col_offset), at(c.end_lineno, c.end_col_offset)
        text = src[a:b].decode()
        if text in (f'"{old}"', f"'{old}'"):
            put(a, b, text[0] + new + text[0])

    for late in put_later:
        put_string(*late)
    for n in ast.walk(tree):
        if isinstance(n, ast.Call):
            pairs = dict(filter(None, map(renamed_at, [*n.args, *(k.value for k in n.keywords)])))
            for c in [*n.args, *(k.value for k in n.keywords)]:
                if isinstance(c, ast.Constant) and isinstance(c.value, str) and c.value in pairs:
                    put_string(c, c.value, pairs[c.value])
        elif isinstance(n, ast.JoinedStr):
            for c, f in zip(n.values, n.values[1:]):
                if isinstance(c, ast.Constant) and isinstance(f, ast.FormattedValue):
                    pair = renamed_at(f.value)
                    if pair and c.value.endswith(pair[0] + "=") and not re.search(r"\w$", c.value[: -len(pair[0]) - 1]):
                        b = at(c.end_lineno, c.end_col_offset)
                        a = b - len(pair[0].encode()) - 1
                        put_name(a, b - 1, *pair)
    listing = [
        n.value
        for n in tree.body
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in n.targets)
    ]
    if pk and d.startswith("timelike"):
        listing = tree.body
    for part in listing:
        for c in ast.walk(part):
            if isinstance(c, ast.Constant) and isinstance(c.value, str) and c.value.isidentifier():
                r = resolve(d, c.value)
                if r and r[0] == "symbol" and r[2] == c.value and r[1:] in sym:
                    put_string(c, c.value, sym[r[1:]])
                elif r and r[0] == "module" and moved(r[1]).split(".")[-1] != c.value:
                    problem(path, f"line {c.lineno}: string {c.value!r} names a module that moved to {moved(r[1])}")
    doc_params = {}  # line of a docstring -> renamed parameters of its function
    for n in ast.walk(tree):
        if (
            isinstance(n, (ast.FunctionDef, ast.ClassDef))
            and n.body
            and isinstance(n.body[0], ast.Expr)
            and isinstance(n.body[0].value, ast.Constant)
        ):
            doc_params[n.body[0].lineno] = own_params.get(id(n), {})
    # strings and comments
    try:
        for tok in tokenize.tokenize(io.BytesIO(src).readline):
            documentation = tok.type == tokenize.COMMENT or (tok.type == tokenize.STRING and '"""' in tok.string)
            if documentation or (tok.type == tokenize.STRING and "timelike." in tok.string):
                (l1, c1), (l2, c2) = tok.start, tok.end
                a = starts[l1 - 1] + len(lines[l1 - 1].decode()[:c1].encode())
                b = starts[l2 - 1] + len(lines[l2 - 1].decode()[:c2].encode())
                new = DOT.sub(lambda m: new_dotted(m[0]), tok.string)
                if documentation:
                    new = in_prose(new, d, doc_params.get(l1, ()))
                if new != tok.string:
                    put(a, b, new)
    except tokenize.TokenError:
        pass
    if not edits:
        return None
    out, last = [], 0
    spans = sorted(edits)
    for i, (a, b) in enumerate(spans):
        if a < last:
            problem(path, "overlap", src[a:b].decode()[:60], "->", edits[(a, b)][:60])
            continue
        out += [src[last:a], edits[(a, b)].encode()]
        last = b
    out.append(src[last:])
    return b"".join(out)


results = {}
for p in files:
    r = edit(p)
    if r is not None:
        try:
            ast.parse(r)
        except SyntaxError as e:
            problem("syntax", p, e)
            continue
        results[p] = r
texts = {}
for pat in (
    "*.md",
    "docs/**/*.md",
    "benchmarks/**/*.md",
    "*.toml",
    "mkdocs.yml",
    "Makefile",
    "benchmarks/**/*.toml",
    "changes/**/*",
):
    for p in ROOT.glob(pat):
        if p.is_file() and ".venv" not in p.parts:
            t = p.read_text()
            n = DOT.sub(lambda m: new_dotted(m[0]), t)
            if (
                p.suffix == ".md"
                and "CHANGELOG" not in p.name
                and "decisions" not in p.parts
                and "changes" not in p.parts
            ):
                n = in_markdown(n)
            if n != t:
                texts[p] = n
print(f"{len(results)} python files, {len(texts)} texts change, {len(mod_moves)} moves, {len(problems)} problems")
pathlib.Path("codemod.problems").write_text("\n".join(problems) + "\n")
if APPLY:
    for p, r in results.items():
        p.write_bytes(r)
    for p, t in texts.items():
        p.write_text(t)

    # definitions that go to another module: cut here, appended there; imports are mended by hand (ruff names them)
    cut = collections.defaultdict(list)
    for (m, name), target_module in sym_moves.items():
        if moved(m) == target_module:
            continue
        path = modules[m]
        text = path.read_text()
        tree = ast.parse(text)
        new_name = sym.get((m, name), name)
        lines = text.split("\n")
        for node in tree.body:
            names = (
                {node.name}
                if isinstance(node, (ast.FunctionDef, ast.ClassDef))
                else set().union(
                    *(set(target_names(t)) for t in (node.targets if isinstance(node, ast.Assign) else [node.target]))
                )
                if isinstance(node, (ast.Assign, ast.AnnAssign))
                else set()
            )
            if new_name in names:
                first = min([node.lineno, *(x.lineno for x in getattr(node, "decorator_list", []))]) - 1
                while first and lines[first - 1].startswith("#"):
                    first -= 1
                last = node.end_lineno
                if last < len(lines) and lines[last].startswith('"""'):  # documentation of a constant
                    last += 1
                    while not lines[last - 1].rstrip().endswith('"""'):
                        last += 1
                cut[target_module].append((isinstance(node, (ast.Assign, ast.AnnAssign)), "\n".join(lines[first:last])))
                del lines[first:last]
                path.write_text("\n".join(lines))
                break
        else:
            print("not found for move", m, name)

    def mv(a, b):
        b.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", str(a), str(b)], cwd=ROOT, check=True)

    # single modules, deepest first, then whole packages
    for old, new in sorted(mod_moves.items(), key=lambda kv: -kv[0].count(".")):
        pkg = ROOT / "src" / pathlib.Path(*old.split("."))
        npkg = ROOT / "src" / pathlib.Path(*new.split("."))
        if is_pkg(old):
            npkg.mkdir(parents=True, exist_ok=True)
            for child in sorted(pkg.iterdir()):
                if child.name == "__pycache__":
                    continue
                if child.suffix == ".so":
                    child.rename(npkg / child.name)
                    continue
                if (npkg / child.name).exists():
                    problem("exists", npkg / child.name)
                    print("exists", npkg / child.name)
                    continue
                mv(child, npkg / child.name)
        else:
            mv(pkg.with_suffix(".py"), npkg.with_suffix(".py"))
    for target_module, pieces in cut.items():
        path = ROOT / "src" / pathlib.Path(*target_module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_text() if path.exists() else '"""TODO: moved here."""\n'
        at_ = 0
        for node in ast.parse(old).body:
            if (
                isinstance(node, (ast.Import, ast.ImportFrom))
                or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
                or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
            ):
                at_ = node.end_lineno
            else:
                break
        head, tail = old.split("\n")[:at_], old.split("\n")[at_:]
        head += ["", *(text for constant, text in pieces if constant)]
        body = "\n".join([*head, *tail]).rstrip("\n")
        path.write_text("\n\n\n".join([body, *(text for constant, text in pieces if not constant)]) + "\n")
        subprocess.run(["git", "add", str(path)], cwd=ROOT)
    for m in {moved(m) for m in modules if m.startswith("timelike")} | set(sym_moves.values()):
        parts = m.split(".")
        for i in range(1, len(parts)):
            f = ROOT / "src" / pathlib.Path(*parts[:i]) / "__init__.py"
            if not f.exists() and not (ROOT / "src" / pathlib.Path(*parts[:i])).with_suffix(".py").exists():
                f.write_text('"""TODO"""\n')
                subprocess.run(["git", "add", str(f)], cwd=ROOT)
                print("created", f)
