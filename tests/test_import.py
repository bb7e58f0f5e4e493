import subprocess
import sys

import pytest

import mne_otica

# What only figures, statistics or whole studies need.
HEAVY = ("matplotlib.pyplot", "scipy.stats", "scipy.signal", "mne.preprocessing.ica", "pandas")


def loaded_after(statement):
    """Return which of the heavy modules a fresh Python has loaded after a statement."""
    code = f"import sys\n{statement}\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import mne_otica") == []


def test_no_figure_library_is_loaded_before_a_figure_is_drawn():
    loaded = loaded_after("import mne_otica; mne_otica.clean_raw, mne_otica.ICA")
    assert "mne.preprocessing.ica" in loaded
    # Some versions of MNE load it for their own ICA.
    assert "matplotlib.pyplot" not in set(loaded) - set(
        loaded_after("import mne.preprocessing.ica")
    )


@pytest.mark.parametrize("name", mne_otica.__all__)
def test_every_public_name_is_there(name):
    assert getattr(mne_otica, name) is not None
    assert name in dir(mne_otica)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="blink_away"):
        mne_otica.blink_away  # noqa: B018
