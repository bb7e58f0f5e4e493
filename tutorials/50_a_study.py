"""
.. _tut-study:

50. A study from the command line
=================================

One command cleans all recordings of a study. A recording that cannot be read does not stop it, and
finished stages are not repeated. This tutorial creates a small study, runs the command, changes
one of its decisions and runs it again.
"""

# %%
# A study
# -------
# Four recordings of one minute: two with blinks, one without, and one file that is truncated. Any
# format that MNE reads can be used; these are FIF files.

# sphinx_gallery_thumbnail_number = 1
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import mne
import numpy as np
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
# or ``mne_otica run --bids-root FOLDER`` for a BIDS dataset. Here the command is run from Python.


def mne_otica_run(*options):
    """Run the command in the folder of the study; return its exit status."""
    files = [str(path.relative_to(study)) for path in sorted(recordings.iterdir())]
    command = [sys.executable, "-m", "mne_otica", "run", *files, "--out", "cleaned"]
    done = subprocess.run([*command, *options], cwd=study, capture_output=True, text=True)
    print((done.stdout + done.stderr).replace(str(study), "."))
    return done.returncode


status = mne_otica_run()

# %%
# The truncated file is listed as failed; the other recordings are not affected. Because of it, the
# exit status is 1.

print(f"Exit status: {status}")

# %%
# The table
# ---------
# ``summary.html`` lists the recordings, those to check first at the top; ``summary.tsv`` is the
# same table for programs. ``removed`` lists the components that blinks were taken out of,
# ``benefit`` is the share of the average blink that was removed, and ``harm`` the share of the
# signal that was taken out away from blinks.

columns = ["recording", "status", "blinks", "removed", "benefit", "harm", "message"]
types = {"blinks": "Int64", "removed": str}
table = pd.read_csv(study / "cleaned" / "summary.tsv", sep="\t", dtype=types)
table[columns].round(3)

# %%
# Two are ``ok``, one has no blinks and one failed. In the two, more than 90 % of the average blink
# was removed, and less than 2 % of the signal was taken out away from blinks.

good = table[table["status"] == "cleaned"]

fig, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
at = np.arange(len(good))
ax.barh(at + 0.2, 100 * good["benefit"], 0.4, color="C0", label="average blink removed")
ax.barh(at - 0.2, 100 * good["harm"], 0.4, color="C3", label="taken out away from blinks")
ax.set(xlabel="%", xlim=(0, 100), yticks=at, yticklabels=good["recording"])
ax.spines[["top", "right"]].set_visible(False)
fig.legend(frameon=False, loc="outside upper center", ncols=2)
plt.show()

# %%
# The files
# ---------
# Each recording has an ICA, a table of components, the cleaned recording and a report, named as in
# mne-bids-pipeline.

for path in sorted((study / "cleaned").glob("sub-01*")):
    print(path.name)

# %%
# Changing a decision
# -------------------
# You can edit the table of components. From the components that were found, only blinks are
# removed; a component that you mark as ``bad`` yourself is removed entirely, and one marked as
# ``good`` is kept. Here component 3 (ICA003) of the first recording is marked as bad, too.

name = next((study / "cleaned").glob("sub-01*_components.tsv"))
components = pd.read_csv(name, sep="\t", dtype=str, keep_default_na=False)
components.loc[components["component"] == "3", ["status", "status_description"]] = [
    "bad",
    "marked by hand",
]
components.to_csv(name, sep="\t", index=False)
mne_otica_run()

# %%
# Only that recording was cleaned again, starting from the step that reads the table, and the
# truncated file was tried again. The edited table was used. The summary shows that it was not a
# good decision: now about 30 % of the signal is taken out away from blinks.

edited = pd.read_csv(study / "cleaned" / "summary.tsv", sep="\t", dtype=types)
cleaned = mne.io.read_raw_fif(next((study / "cleaned").glob("sub-01*clean_raw.fif")), preload=True)
folder.cleanup()
edited[columns].round(3)

# %%
# In Python, call ``mne_otica.clean_study(files, "cleaned")``. The options, parallel processing,
# SLURM and Dask are described in :doc:`/studies`.
