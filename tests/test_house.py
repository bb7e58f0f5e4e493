"""The house: eight floors, imports that point downwards, and names that mean one thing."""

import ast
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import mne_otica

ROOT = Path(mne_otica.__file__).parent
# From the ground up. On a floor, a room may import those to its left.
FLOORS = [
    ("utils", "metrics", "solver", "datasets"),
    ("ica", "signals", "simulation"),
    ("artifacts",),
    ("removal", "evaluation", "trust"),
    ("cleaning", "eeglab"),
    ("viz",),
    ("study",),
    ("cli", "__main__"),
]
FLAT = {"__init__", "__main__", "cli", "datasets", "eeglab", "ica", "metrics"}
MOST_MODULES_IN_A_CHAIN = 14
# Methods that draw import the figures when they are called, as MNE's do.
DRAWN = {("cleaning", "viz"), ("evaluation", "viz"), ("trust", "viz")}


def room(module):
    return module.split(".")[1]


def source(module):
    path = ROOT.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path.read_text(encoding="utf-8")


def is_module(name):
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imported(nodes, module):
    """Yield the modules of the package that are imported by some nodes of a syntax tree."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if is_module(inner) else node.module


def eager(tree):
    """Yield the imports that run when a module is imported, in ``try`` blocks too."""
    for node in tree.body:
        if isinstance(node, ast.Try):
            yield from node.body
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield node


@pytest.fixture(scope="module")
def modules():
    """Return the syntax tree of each module."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    del found["mne_otica"]
    return found


@pytest.fixture(scope="module")
def graph(modules):
    """Return the modules that each one imports anywhere, in functions too."""
    inside = {
        name: {one for one in imported(ast.walk(tree), name) if one.startswith("mne_otica.")}
        for name, tree in modules.items()
    }
    return {name: {one for one in some if one != name} for name, some in inside.items()}


def test_imports_point_downwards(graph):
    order = [name for names in FLOORS for name in names]
    for names in reversed(FLOORS):
        print(" | ".join(names))  # noqa: T201, the house for the reader
    for module, below in graph.items():
        assert room(module) in order, f"{module} has no floor in the house"
        for one in below:
            pair = room(module), room(one)
            if pair[0] != pair[1] and pair not in DRAWN:
                below_it = order.index(pair[1]) < order.index(pair[0])
                assert below_it, f"{module} imports {one}, which is above it"


def test_no_module_imports_itself_through_others(graph):
    # A result is cleaned again by a method, which imports the cleaning when it is called.
    again = ("mne_otica.cleaning.result", "mne_otica.cleaning.conclude")
    below = {
        name: {one for one in some if (room(name), room(one)) not in DRAWN and (name, one) != again}
        for name, some in graph.items()
    }
    # A package and the modules in it are loaded together: the modules do not import the package.
    for name, some in below.items():
        package = name.rpartition(".")[0]
        assert package == "mne_otica" or package not in some, f"{name} imports {package}"
    assert set(below) <= set(TopologicalSorter(below).static_order())


def test_chains_of_imports_are_short(modules):
    below = {
        name: {one for one in imported(eager(tree), name) if one in modules and one != name}
        for name, tree in modules.items()
    }
    chains = {}
    for name in TopologicalSorter(below).static_order():
        longest = max((chains[one] for one in below[name]), key=len, default=())
        chains[name] = (*longest, name)
    deepest = max(chains.values(), key=len)
    print(len(deepest), " <- ".join(deepest))  # noqa: T201
    assert len(deepest) <= MOST_MODULES_IN_A_CHAIN


def test_only_public_files_are_flat():
    assert {path.stem for path in ROOT.glob("*.py")} == FLAT


@pytest.mark.parametrize("which", ["modules", "classes"])
def test_a_name_means_one_thing(modules, which):
    found = defaultdict(set)
    for module, tree in modules.items():
        if which == "modules" and not (ROOT.parent / module.replace(".", "/")).is_dir():
            found[module.rpartition(".")[2]].add(module)
        if which == "classes":
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    found[node.name].add(module)
    assert not {name: where for name, where in found.items() if len(where) > 1}


def test_packages_only_export(modules):
    for module, tree in modules.items():
        if (ROOT.parent / module.replace(".", "/")).is_dir():
            kinds = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
            assert all(isinstance(node, kinds) for node in tree.body), module


def test_only_the_command_line_uses_the_package_by_its_public_names(modules):
    """The names of the package are loaded when they are used, so a circle would not be seen."""
    for module, tree in modules.items():
        if module != "mne_otica.cli":
            names = {
                alias.name
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom) and node.module == "mne_otica"
                for alias in node.names
                if not is_module(f"mne_otica.{alias.name}")
            }
            assert names <= {"__version__"}, module
            assert "\nimport mne_otica\n" not in source(module)
