"""Sphinx configuration: `make -C docs html`."""

import os
import re
import sys
import tomllib
from contextlib import redirect_stdout, suppress
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import inventories  # noqa: E402

# The pages show results, not how a fit went; a notebook of the reader's keeps MNE's level. MNE
# reads this when it is imported.
os.environ["MNE_LOGGING_LEVEL"] = "WARNING"
import mne_otica  # noqa: E402
from mne_otica import cli  # noqa: E402

project = "mne-otica"
author = "mne-otica developers"
project_copyright = "mne-otica developers, BSD 3-Clause"
version = release = mne_otica.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "auto_tutorials/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
nitpicky = True
# Properties in a list of attributes, which numpydoc links to entries that the template leaves out.
nitpick_ignore = [("py:obj", name) for name in ("index", "n_returns", "read_study", "removal")]
toc_object_entries_show_parents = "hide"  # names of methods would be cut off in the menu
default_role = "py:obj"
bibtex_bibfiles = ["references.bib"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# -- API ---------------------------------------------------------------------------------
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have the types, with the shapes of arrays
autodoc_default_options = {"inherited-members": False}
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False  # the class template lists them
numpydoc_attributes_as_param_list = True
checks = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
numpydoc_validation_checks = set(checks["numpydoc_validation"]["checks"])
numpydoc_validation_exclude = set(checks["numpydoc_validation"]["exclude"])
numpydoc_xref_param_type = True
numpydoc_xref_aliases = {
    "Annotations": "mne.Annotations",
    "Axes": "matplotlib.axes.Axes",
    "ArtifactRow": "mne_otica.artifacts.ArtifactRow",
    "ArtifactScores": "mne_otica.artifacts.ArtifactScores",
    "Cleaned": "mne_otica.cleaning.Cleaned",
    "Audit": "mne_otica.evaluation.Audit",
    "Covariance": "mne.Covariance",
    "Epochs": "mne.Epochs",
    "Evoked": "mne.Evoked",
    "Figure": "matplotlib.figure.Figure",
    "Generator": "numpy.random.Generator",
    "ICA": "mne.preprocessing.ICA",
    "Info": "mne.Info",
    "Mixture": "mne_otica.simulation.Mixture",
    "Path": "pathlib.Path",
    "Preservation": "mne_otica.evaluation.Preservation",
    "RMSReduction": "mne_otica.evaluation.RMSReduction",
    "RandomState": "numpy.random.RandomState",
    "Raw": "mne.io.Raw",
    "Report": "mne.Report",
    "SimulatedRecording": "mne_otica.simulation.SimulatedRecording",
    "Stability": "mne_otica.trust.Stability",
    "Study": "mne_otica.study.Study",
    "ndarray": "numpy.ndarray",
}
# Words of a type that name no object.
numpydoc_xref_ignore = {"array-like", "instance", "of", "or", "path-like", "sequence", "shape"}
numpydoc_xref_ignore |= {f"n_{thing}" for thing in ("blinks", "channels", "components", "events")}
numpydoc_xref_ignore |= {
    "Removal",
    "n_fits",
    "n_lengths",
    "n_of_that_kind",
    "n_removed",
    "n_times",
    "n_samples",
    "n_sources",
}

intersphinx_mapping = inventories.write(HERE / "_build" / "inventories")
intersphinx_timeout = 5

# -- Tutorials ---------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../tutorials",
    "gallery_dirs": "auto_tutorials",
    "filename_pattern": r"/\d{2}_",
    "ignore_pattern": r"(^|/)(?!\d{2}_)[^/]+\.py$",  # modules that tutorials import
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "min_reported_time": 1,
    "thumbnail_size": (480, 336),  # twice their size in style.css
    "remove_config_comments": True,
    "doc_module": "mne_otica",
    "backreferences_dir": "generated/backreferences",
}


# -- Command line ------------------------------------------------------------------------
def write_help(app: Sphinx) -> None:
    """Write the help of each command that a page shows."""
    os.environ.update(COLUMNS="88", NO_COLOR="1")
    text = "".join(page.read_text(encoding="utf-8") for page in HERE.glob("*.md"))
    for name in re.findall(r"generated/help/(\w+)\.txt", text):
        path = HERE / "generated" / "help" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file, redirect_stdout(file), suppress(SystemExit):
            cli.main([name, "--help"])


# -- Formulas ----------------------------------------------------------------------------
html_math_renderer = "mathml"  # which browsers draw without a network


def add_formula(writer: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula into the page."""
    as_block = isinstance(node, nodes.math_block)
    formula = tex2mathml(node.astext(), as_block=as_block)
    writer.body.append(f'<div class="formula">{formula}</div>' if as_block else formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.connect("builder-inited", write_help)
    app.add_html_math_renderer("mathml", (add_formula, None), (add_formula, None))


# -- Look --------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "mne-otica"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_sourcelink = False
# Pages without pages below them need no list of these.
html_sidebars = {page.stem: [] for page in HERE.glob("*.md")}
html_theme_options = {
    "header_links_before_dropdown": 4,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
