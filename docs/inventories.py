"""The names of other projects that these pages link to, for builds without a network.

Sphinx tries the real inventories first and takes these where a download fails. It has no setting
for that: a failed download is a warning without a type, which cannot be suppressed, and every name
that is then missing is another one, while warnings are errors here.
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
        ("bool", "py:class", "library/functions.html#$"),
        ("dict", "py:class", "library/stdtypes.html#$"),
        ("float", "py:class", "library/functions.html#$"),
        ("int", "py:class", "library/functions.html#$"),
        ("list", "py:class", "library/stdtypes.html#$"),
        ("str", "py:class", "library/stdtypes.html#$"),
        ("tuple", "py:class", "library/stdtypes.html#$"),
        ("None", "py:data", "library/constants.html#$"),
        ("True", "py:data", "library/constants.html#$"),
        ("False", "py:data", "library/constants.html#$"),
        ("NamedTuple", "py:class", "library/typing.html#typing.NamedTuple"),
        ("pathlib.Path", "py:class", "library/pathlib.html#$"),
        ("bltin-boolean-values", "std:label", "library/stdtypes.html#$"),
        ("sequence", "std:term", "glossary.html#term-$"),
        ("UserWarning", "py:exception", "library/exceptions.html#$"),
    ],
    "numpy": [
        ("numpy.ndarray", "py:class", "reference/generated/$.html#$"),
        ("numpy.random.Generator", "py:class", "reference/random/generator.html#$"),
        ("array_like", "std:term", "glossary.html#term-$"),
        ("numpy.random.RandomState", "py:class", "reference/random/legacy.html#$"),
    ],
    "scipy": [],
    "matplotlib": [
        ("matplotlib.axes.Axes", "py:class", "api/_as_gen/$.html#$"),
        ("matplotlib.figure.Figure", "py:class", "api/_as_gen/$.html#$"),
    ],
    "pandas": [("pandas.DataFrame", "py:class", "reference/api/$.html#$")],
    "mne": [
        (f"mne.{name}", kind, "generated/$.html#$")
        for name, kind in {
            "Annotations": "py:class",
            "Covariance": "py:class",
            "Epochs": "py:class",
            "Evoked": "py:class",
            "Info": "py:class",
            "Report": "py:class",
            "io.Raw": "py:class",
            "grand_average": "py:function",
            "io.read_raw": "py:function",
            "preprocessing.EOGRegression": "py:class",
            "preprocessing.ICA": "py:class",
            "preprocessing.find_eog_events": "py:function",
            "preprocessing.read_ica": "py:function",
            "preprocessing.read_ica_eeglab": "py:function",
            "verbose": "py:function",
            "viz.plot_compare_evokeds": "py:function",
        }.items()
    ]
    + [("tut-logging", "std:label", "auto_tutorials/intro/50_configure_mne.html#$")]
    + [
        (f"mne.preprocessing.ICA.{name}", "py:method", "generated/mne.preprocessing.ICA.html#$")
        for name in ("apply", "find_bads_eog", "get_components")
    ],
}


def write(folder: Path) -> dict[str, tuple[str, tuple[None, str]]]:
    """Write one inventory per project and return Sphinx's mapping of URLs to them."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, url in URLS.items():
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        lines = (f"{name} {kind} 1 {page} -\n" for name, kind, page in _NAMES[project])
        path = folder / f"{project}.inv"
        path.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
        mapping[project] = (url, (None, str(path)))
    return mapping
