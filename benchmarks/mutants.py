"""Change the code in one place at a time, and see whether a test notices.

``python benchmarks/mutants.py mne_otica/solver/transport.py tests/solver/test_transport.py`` prints
each change that no test noticed, and how many were noticed. Give ``--share 0.1`` to try a tenth of
them, and ``--lines 36 58`` to try only these, for instance again with slower tests. Tests run in
forked processes, so that MNE is imported once only (not on Windows).
"""

import argparse
import ast
import copy
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SWAPS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
# What takes long to import is imported once, before the processes fork.
LATE = ("hypothesis", "matplotlib.pyplot", "mne.io", "mne.preprocessing", "mne.report", "pandas")
LATE += ("scipy.integrate", "scipy.signal", "scipy.stats", "sklearn")
TIMEOUT = 120  # seconds; a change that makes the tests hang is noticed, too


def variants(node):
    """Yield nodes to put in the place of this one."""
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            ops = [*node.ops[:k], SWAPS[type(op)](), *node.ops[k + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        yield ast.BinOp(node.left, SWAPS[type(node.op)](), node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in SWAPS:
        yield ast.AugAssign(node.target, SWAPS[type(node.op)](), node.value)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(SWAPS[type(node.op)](), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield ast.Constant(1.5 * node.value if node.value else 1.0)


def places(node, path=()):
    """Yield the path to every node whose change matters: no types and no messages."""
    yield path
    if isinstance(node, ast.Raise | ast.arg | ast.AnnAssign) or _is_log(node):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for position, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST):
                step = (name, position) if isinstance(value, list) else (name, None)
                yield from places(child, (*path, step))


def _is_log(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("logger.info", "warn")


def _child(node, step):
    name, position = step
    value = getattr(node, name)
    return value if position is None else value[position]


def mutants(source):
    """Yield the line, the change in words, and the changed source."""
    tree = ast.parse(source)
    for path in places(tree):
        node = tree
        for step in path:
            node = _child(node, step)
        for variant in variants(node):
            changed = copy.deepcopy(tree)
            parent = changed
            for step in path[:-1]:
                parent = _child(parent, step)
            name, position = path[-1]
            if position is None:
                setattr(parent, name, variant)
            else:
                getattr(parent, name)[position] = variant
            words = f"{ast.unparse(node)}  ->  {ast.unparse(variant)}"
            yield node.lineno, words, ast.unparse(ast.fix_missing_locations(changed))


def noticed(folder, tests):
    """Return whether tests fail with the code in a folder."""
    pid = os.fork()
    if pid == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        import pytest

        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header"]
        # Hypothesis, whose own assertions pytest would rewrite, is imported already.
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        os._exit(int(pytest.main([*options, *tests])))
    ends = time.monotonic() + TIMEOUT
    while time.monotonic() < ends:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status != 0
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", type=Path)
    parser.add_argument("tests", nargs="+", help="test files, or -k and the like after --")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--lines", type=int, nargs="+", help="change only these")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    arguments = parser.parse_args()
    for name in LATE:
        importlib.import_module(name)
    found = list(mutants(arguments.module.read_text(encoding="utf-8")))
    if arguments.lines:
        found = [one for one in found if one[0] in arguments.lines]
    chosen = random.Random(0).sample(found, round(arguments.share * len(found)))
    started, survivors, n_tried = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for part in ("benchmarks", "mne_otica", "tests"):
            shutil.copytree(ROOT / part, Path(folder, part))
        shutil.copy(ROOT / "pyproject.toml", folder)
        copied = Path(folder, arguments.module.resolve().relative_to(ROOT))
        if noticed(folder, arguments.tests):
            sys.exit("The tests fail without any change.")
        for line, words, source in chosen:
            if time.monotonic() - started > arguments.seconds:
                break
            n_tried += 1
            copied.write_text(source, encoding="utf-8")
            # Python compiles anew what has another time, in whole seconds, or another size.
            os.utime(copied, (n_tried, n_tried))
            if not noticed(folder, arguments.tests):
                survivors += 1
                print(f"{arguments.module.name}:{line}: {words}", flush=True)
    seconds = time.monotonic() - started
    print(
        f"{arguments.module}: {n_tried - survivors} of {n_tried} changes noticed "
        f"({len(found)} possible), {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
