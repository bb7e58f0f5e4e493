"""Tutorials run as the notebooks that the documentation offers."""

import copy
import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "tutorials").glob("[0-9][0-9]_*.py"))
QUICK = "80_price_discovery.py"  # the everyday tests run one, the slow ones all


def _parameters():
    for path in TUTORIALS:
        marks = () if path.name == QUICK else pytest.mark.slow
        yield pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.filterwarnings("ignore")  # of notebook software; those of the cells are in the kernel
@pytest.mark.parametrize("path", list(_parameters()))
def test_runs_as_a_notebook(path, tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nbformat
        from nbclient import NotebookClient
        from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
        from sphinx_gallery.notebook import jupyter_notebook, save_notebook
        from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    _, blocks = split_code_and_text_blocks(str(path))
    settings = copy.deepcopy(DEFAULT_GALLERY_CONF)
    written = tmp_path / f"{path.stem}.ipynb"
    save_notebook(jupyter_notebook(blocks, settings, str(tmp_path)), written)
    notebook = nbformat.read(written, as_version=4)
    monkeypatch.setenv("PYTHONWARNINGS", "error::RuntimeWarning,error::FutureWarning")
    monkeypatch.setenv("MPLBACKEND", "agg")
    # A failing cell, an assertion included, raises here.
    beside = {"metadata": {"path": str(path.parent)}}  # where modules of a tutorial are
    client = NotebookClient(notebook, timeout=300, resources=beside)
    executed = client.execute()
    assert any(cell.cell_type == "code" and cell.execution_count for cell in executed.cells)


@pytest.mark.parametrize("path", TUTORIALS, ids=[path.stem for path in TUTORIALS])
def test_promises_no_download_and_asserts_its_numbers(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""\n.. _tut-')
    assert f"\n{path.name[:2]}. " in text
    assert "fetch" not in text
    assert "data_path" not in text
    assert len(re.findall(r"^assert ", text, re.MULTILINE)) >= 4


def test_first_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = re.search(
        r"<!-- example -->\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    lines = [line for line in example[1].splitlines() if line]
    assert len(lines) <= 6
    promised = int(re.search(r"# removed (\d+) %", example[1])[1])
    variables = {}
    exec(example[1], variables)
    benefit = variables["result"].benefit
    assert abs(100 * benefit.over(benefit.most_affected()) - promised) < 2
    assert len(list((tmp_path / "cleaned").iterdir())) == 4


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    for address in re.findall(r"\]\((.*?)\)", text):
        assert address.startswith("https://") or (ROOT / address).exists(), address
