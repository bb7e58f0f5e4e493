"""The outside names that these pages link to, for builds without a network.

Sphinx asks the real inventories first. Where they cannot be fetched, a build would otherwise
warn about each of them and about every name that is not found, and warnings are errors here.
"""

import zlib
from pathlib import Path

URLS = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "scipy": "https://docs.scipy.org/doc/scipy",
    "matplotlib": "https://matplotlib.org/stable",
    "pandas": "https://pandas.pydata.org/docs",
    "mne": "https://mne.tools/stable",
}
# Name, kind, page; "$" in a page stands for the name, as in Sphinx's own format.
_NAMES = {
    "python": [
        ("bool", "class", "library/functions.html#$"),
        ("dict", "class", "library/stdtypes.html#$"),
        ("float", "class", "library/functions.html#$"),
        ("int", "class", "library/functions.html#$"),
        ("list", "class", "library/stdtypes.html#$"),
        ("str", "class", "library/stdtypes.html#$"),
        ("tuple", "class", "library/stdtypes.html#$"),
        ("None", "data", "library/constants.html#$"),
        ("True", "data", "library/constants.html#$"),
        ("False", "data", "library/constants.html#$"),
        ("NamedTuple", "class", "library/typing.html#typing.NamedTuple"),
        ("UserWarning", "exception", "library/exceptions.html#$"),
    ],
    "numpy": [
        ("numpy.ndarray", "class", "reference/generated/$.html#$"),
        ("numpy.random.Generator", "class", "reference/random/generator.html#$"),
        ("numpy.random.RandomState", "class", "reference/random/legacy.html#$"),
    ],
    "scipy": [],
    "matplotlib": [
        ("matplotlib.axes.Axes", "class", "api/_as_gen/$.html#$"),
        ("matplotlib.figure.Figure", "class", "api/_as_gen/$.html#$"),
    ],
    "pandas": [("pandas.DataFrame", "class", "reference/api/$.html#$")],
    "mne": [
        (f"mne.{name}", kind, "generated/$.html#$")
        for name, kind in {
            "Covariance": "class",
            "Epochs": "class",
            "Report": "class",
            "io.Raw": "class",
            "io.read_raw": "function",
            "preprocessing.EOGRegression": "class",
            "preprocessing.ICA": "class",
            "preprocessing.find_eog_events": "function",
            "preprocessing.read_ica": "function",
        }.items()
    ]
    + [
        (f"mne.preprocessing.ICA.{name}", "method", "generated/mne.preprocessing.ICA.html#$")
        for name in ("find_bads_eog", "get_components")
    ],
}


def write(folder):
    """Write one inventory per project and return Sphinx's mapping of URLs to them."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, url in URLS.items():
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        lines = (f"{name} py:{kind} 1 {page} -\n" for name, kind, page in _NAMES[project])
        path = Path(folder) / f"{project}.inv"
        path.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
        mapping[project] = (url, (None, str(path)))
    return mapping
