"""Which module imports which: downwards only, and never in a circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import mne_otica

ROOT = Path(mne_otica.__file__).parent
# From the bottom to the top; modules of one line do not import each other.
FLOORS = [
    {"_checks", "_docs", "_measures", "_places"},
    {"_recording", "solver", "datasets", "metrics", "simulation"},
    {"ica"},
    {"artifacts", "_windows", "_refits"},
    {"evaluation", "removal", "_calibration", "_topomap"},
    {"trust", "_found"},
    {"_taken"},
    {"eeglab"},
    {"_cleaned"},
    {"cleaning"},
    {"_epochs", "_viz_stability", "_glance", "_choice"},
    {"_drawing"},
    {"_viz_components", "_viz_events", "_viz_measures", "_html"},
    {"_viz_review"},
    {"viz"},
    {"report"},
    {"study"},
    {"cli"},
    {"__main__"},
]
# Methods that draw import what lies above them when they are called, as MNE's do.
DRAWN = {
    (low, high) for low in ("_cleaned", "trust") for high in ("viz", "report", "_html", "_choice")
}


def room(module):
    return module.split(".")[1]


def imports(path):
    """Yield the modules of the package that a file imports anywhere, in functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if _is_module(inner) else node.module


def _is_module(name):
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def graph():
    """Return the modules of the package that each one imports."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        name = name.removesuffix(".__init__")
        if name != "mne_otica":
            found[name] = {one for one in imports(path) if one.split(".")[0] == "mne_otica"}
    return found


def test_imports_point_downwards_and_never_back():
    floor = {name: k for k, names in enumerate(FLOORS) for name in names}
    for module, imported in graph().items():
        below = sorted(one for one in imported if one != "mne_otica")
        print(f"{module} -> {', '.join(below) or '-'}")  # noqa: T201, the graph for the reader
        assert room(module) in floor, f"{module} has no floor in the house"
        for one in below:
            pair = room(module), room(one)
            if pair[0] != pair[1] and pair not in DRAWN:
                assert floor[pair[1]] < floor[pair[0]], f"{module} imports {one}, which is above it"


def test_no_module_imports_itself_through_others():
    modules = {
        name: {one for one in imported if (room(name), room(one)) not in DRAWN}
        for name, imported in graph().items()
        for imported in [imported - {"mne_otica"}]
    }
    # A package and the modules in it are loaded together: the modules do not import the package.
    for name, imported in modules.items():
        package = name.rpartition(".")[0]
        assert package == "mne_otica" or package not in imported, f"{name} imports {package}"
    order = list(TopologicalSorter(modules).static_order())
    assert set(modules) <= set(order)


def test_only_the_command_line_uses_the_package_by_its_public_names():
    """The names of the package are loaded when they are used, so a circle would not be seen."""
    users = {name for name, imported in graph().items() if "mne_otica" in imported}
    attributes = {
        alias.name
        for name in users - {"mne_otica.cli"}
        for node in ast.walk(ast.parse(_source(name)))
        if isinstance(node, ast.ImportFrom) and node.module == "mne_otica"
        for alias in node.names
        if not _is_module(f"mne_otica.{alias.name}")
    }
    assert attributes <= {"__version__"}
    for name in users - {"mne_otica.cli"}:
        assert "\nimport mne_otica\n" not in _source(name)


def _source(module):
    path = ROOT.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path.read_text(encoding="utf-8")
