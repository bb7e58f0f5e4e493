"""Run MNE's own tests of ICA with another method, and print which tests differ.

Run ``python -m benchmarks.mne_tests CHECKOUT``, where CHECKOUT is a checkout of MNE's repository:
its wheels and source distributions carry no tests. The tests run twice, once with Picard and once
with ``method="otica"`` after `mne_otica.register`, wherever a test takes the method as a parameter
or leaves it to the default. MNE is the one of the checkout.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

TESTS = ("mne/preprocessing/tests/test_ica.py", "mne/viz/tests/test_ica.py")
STOCK = "picard"
_METHOD = "MNE_OTICA_TESTED_METHOD"


def pytest_configure():
    """Make the method the default of MNE's class, as this module is loaded as a plugin."""
    import mne

    import mne_otica

    mne_otica.register()
    mne.preprocessing.ICA.__init__ = _with_default(mne.preprocessing.ICA.__init__)


def _with_default(original):
    from functools import wraps

    @wraps(original)
    def __init__(self, *args, **kwargs):
        kwargs.setdefault("method", os.environ[_METHOD])
        original(self, *args, **kwargs)

    return __init__


def pytest_collection_modifyitems(items):
    """Keep the tests of Picard and those without a method; hand them the method to test."""
    kept = []
    for item in items:
        params = getattr(item, "callspec", None) and item.callspec.params
        if params and "method" in params:
            if params["method"] != STOCK:
                continue
            params["method"] = os.environ[_METHOD]
        kept.append(item)
    items[:] = kept


def outcomes(checkout, method):
    """Run the tests; return the outcome of each by its id."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        command = [sys.executable, "-m", "pytest", "-p", "benchmarks.mne_tests", "-q"]
        command += ["-o", "addopts=", "-o", "junit_family=xunit1", f"--junit-xml={results}", *TESTS]
        root = str(Path(__file__).parents[1])
        paths = os.pathsep.join([str(checkout), root, os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {_METHOD: method, "PYTHONPATH": paths, "MPLBACKEND": "agg"}
        subprocess.run(command, cwd=checkout, env=environment, stdout=sys.stderr)
        if not results.exists():
            sys.exit(
                f"pytest ran no test in {checkout}, see above; install what MNE's tests need, "
                "the dependency group `test` of its pyproject.toml."
            )
        cases = ElementTree.parse(results).getroot().iter("testcase")
        return {f"{case.get('classname')}::{case.get('name')}": _outcome(case) for case in cases}


def _outcome(case):
    kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
    return kinds.pop() if kinds else "passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of MNE's repository")
    checkout = parser.parse_args().checkout.absolute()
    stock, ours = (outcomes(checkout, method) for method in (STOCK, "otica"))
    for name, found in (("picard", stock), ("otica", ours)):
        passed = sum(outcome == "passed" for outcome in found.values())
        print(f"{name}: {passed} of {len(found)} passed")
    lost = [one for one in stock if stock[one] == "passed" and ours.get(one) != "passed"]
    for one in lost:
        print(f"passes with picard, {ours.get(one)} with otica: {one}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
