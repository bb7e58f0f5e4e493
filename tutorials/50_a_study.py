"""
.. _tut-study:

50. A study from the command line
=================================

One command cleans all recordings of a study, survives those that are broken, and can be repeated
at no cost. This tutorial makes a small study, runs the command, overrules one of its decisions and
runs it again.
"""

# %%
# A study
# -------
# Four recordings of a minute, as files: two with blinks, one of a subject who did not blink, and
# one whose copying was cut short. Any format that MNE reads will do; these are FIF.

# sphinx_gallery_thumbnail_number = 1
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import mne
import pandas as pd

import mne_otica

folder = tempfile.TemporaryDirectory()
study = Path(folder.name)
recordings = study / "recordings"
recordings.mkdir()
for number in range(1, 4):
    n_blinks = 0 if number == 3 else 15
    sim = mne_otica.simulation.simulate_raw(19, duration=60, n_blinks=n_blinks, random_state=number)
    sim.raw.save(recordings / f"sub-{number:02}_raw.fif")
whole = (recordings / "sub-01_raw.fif").read_bytes()
(recordings / "sub-04_raw.fif").write_bytes(whole[: len(whole) // 2])

# %%
# One command
# -----------
# In a terminal you would write
#
# .. code-block:: bash
#
#     mne_otica run recordings/*.fif --out cleaned
#
# and ``mne_otica run --bids-root FOLDER`` for a BIDS study. Here Python calls it and shows what it
# prints.


def mne_otica_run(*options):
    """Run the command in the folder of the study; return its exit status."""
    files = [str(path.relative_to(study)) for path in sorted(recordings.iterdir())]
    command = [sys.executable, "-m", "mne_otica.cli", "run", *files, "--out", "cleaned"]
    done = subprocess.run([*command, *options], cwd=study, capture_output=True, text=True)
    print((done.stdout + done.stderr).replace(str(study), "."))
    return done.returncode


status = mne_otica_run()

# %%
# The broken file is a failed row, and nothing else. The exit status is 1 because of it, so that a
# script notices.

assert status == 1

# %%
# The table
# ---------
# ``summary.html`` is the page to open first, worst recordings on top; ``summary.tsv`` is the same
# table for programs. ``removed`` has the numbers of the components, which count from 0.

columns = ["recording", "status", "blinks", "removed", "benefit", "harm", "message"]
types = {"blinks": "Int64", "removed": str}
table = pd.read_csv(study / "cleaned" / "summary.tsv", sep="\t", dtype=types)
table[columns].round(3)

# %%
# Two are ``ok``, one has no blinks and one failed. In the two, 70 to 90 % of the blink went, and
# the signal elsewhere changed by less than 5 %.

counts = table["status"].value_counts()
assert counts.to_dict() == {"ok": 2, "no-blink": 1, "failed": 1}
good = table[table["status"] == "ok"]
assert good["benefit"].between(0.7, 0.9).all()
assert (good["harm"].abs() < 0.05).all()

fig, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
ax.barh(good["recording"], 100 * good["benefit"], color="0.5", label="benefit")
ax.barh(good["recording"], 100 * good["harm"].abs(), color="C3", label="harm")
ax.set(xlabel="RMS lost round blinks, and elsewhere (%)", xlim=(0, 100))
ax.legend(frameon=False)
plt.show()

# %%
# The files
# ---------
# Each recording has an ICA, a table of components, the cleaned recording and a report, with
# mne-bids-pipeline's names.

for path in sorted((study / "cleaned").glob("sub-01*")):
    print(path.name)

# %%
# Disagree
# --------
# The table of components is yours to edit: ``bad`` is removed, ``good`` is kept. Here a person
# decides that component 3 of the first subject has to go, too.

name = next((study / "cleaned").glob("sub-01*_components.tsv"))
components = pd.read_csv(name, sep="\t", dtype=str, keep_default_na=False)
components.loc[components["component"] == "3", ["status", "status_description"]] = [
    "bad",
    "muscle, says the student",
]
components.to_csv(name, sep="\t", index=False)
mne_otica_run()

# %%
# Only that recording was done again, from the step that reads the table, and the broken one was
# tried again. The edit won. It was a bad one: more than 5 % changed elsewhere, which is more than
# blinks explain.

table = pd.read_csv(study / "cleaned" / "summary.tsv", sep="\t", dtype=types)
edited = table.set_index("recording")
assert "3" in edited.loc["sub-01", "removed"]
assert abs(edited.loc["sub-01", "harm"]) > 0.05
cleaned = mne.io.read_raw_fif(next((study / "cleaned").glob("sub-01*clean_raw.fif")))
assert cleaned.times[-1] > 59
folder.cleanup()

# %%
# From Python the same is ``mne_otica.clean_study(files, "cleaned")``. The page `Studies
# <../studies.html>`__ has the options, several processes, SLURM and Dask.
