"""The cleaning as a step of mne-bids-pipeline: two subjects, two workers."""

import subprocess
import sys
from pathlib import Path

import mne
import numpy as np
import pytest
from reviewing import simulated

pytest.importorskip("mne_bids_pipeline")
import mne_bids

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

CONFIG = """
bids_root = {root!r}
deriv_root = {out!r}
ch_types = ["eeg"]
task = "odd"
conditions = ["tone"]
baseline = None
l_freq, h_freq = 0.5, 40
n_jobs = 2
on_error = "abort"
from mne_otica.study.mne_bids_pipeline import regress_artifact
regress_artifact["artifacts"] = ["blink", "heartbeat"]
"""


def test_two_subjects_by_two_workers(tmp_path):
    root, out = tmp_path / "bids", tmp_path / "out"
    sims = {name: simulated(seed) for seed, name in enumerate(("01", "02"))}
    for name, sim in sims.items():
        raw = sim.raw.copy().set_annotations(mne.Annotations(np.arange(2.0, 28, 2), 0.1, "tone"))
        raw.info["line_freq"] = 50
        path = mne_bids.BIDSPath(subject=name, task="odd", datatype="eeg", root=root)
        mne_bids.write_raw_bids(raw, path, format="BrainVision", allow_preload=True)
    config = tmp_path / "config.py"
    config.write_text(CONFIG.format(root=str(root), out=str(out)))
    command = [Path(sys.executable).with_name("mne_bids_pipeline"), "--config", str(config)]
    ended = subprocess.run(
        [*command, "--steps", "init,preprocessing"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    for name, sim in sims.items():
        folder = out / f"sub-{name}" / "eeg"
        before, after = (
            mne.io.read_raw_fif(folder / f"sub-{name}_task-odd_proc-{kind}_raw.fif")
            for kind in ("filt", "regress")
        )
        assert "blinks (events) in ICA" in after.info["description"]
        events = sim.blink_events
        size = [
            np.abs(mne.Epochs(raw, events, tmin=-0.2, tmax=0.3).average().get_data("Fp1")).max()
            for raw in (before, after)
        ]
        assert size[1] < 0.3 * size[0]
        # The epochs of the pipeline are made of the cleaned recording.
        assert (folder / f"sub-{name}_task-odd_proc-clean_epo.fif").exists()
