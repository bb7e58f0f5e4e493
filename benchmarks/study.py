"""A study of forty recordings in four formats: one worker, two workers, and nothing to do.

Run ``python -m benchmarks.study``; ``--bids`` for a study in BIDS, ``--write`` to keep the result.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import mne
import numpy as np

from benchmarks.isolated import watched
from benchmarks.results import show
from mne_otica import clean_study
from mne_otica.simulation import simulate_raw

FORMATS = ("fif", "edf", "vhdr", "set")
_BIDS_FORMATS = {"edf": "EDF", "vhdr": "BrainVision", "set": "EEGLAB"}


def simulated(seed: int, duration: float, channels: int = 16) -> mne.io.BaseRaw:
    """Return a recording; every fourth subject never blinks."""
    n_blinks = 0 if seed % 4 == 3 else int(duration / 5)
    raw = simulate_raw(channels, duration, 128.0, n_blinks=n_blinks, random_state=seed).raw
    raw.info["line_freq"] = 50
    return raw.set_annotations(mne.Annotations([1.0], [0.0], ["start"]))


def make_files(folder: Path, n_recordings: int = 40, duration: float = 60.0) -> list[Path]:
    """Write a study as plain files, the formats in turn."""
    paths = []
    for k in range(n_recordings):
        raw, kind = simulated(k, duration), FORMATS[(k // 4 + k) % 4]
        paths.append(folder / (f"s{k:02d}_raw.fif" if kind == "fif" else f"s{k:02d}.{kind}"))
        if kind == "fif":
            raw.save(paths[-1])
        else:
            scale = {"physical_range": "channelwise"} if kind == "edf" else {}
            mne.export.export_raw(paths[-1], raw, **scale)
    return paths


def make_bids(root: Path, n_recordings: int = 40, duration: float = 60.0) -> None:
    """Write a study in BIDS, where a FIF file has to be one of MEG."""
    from mne_bids import BIDSPath, write_raw_bids

    for k in range(n_recordings):
        raw, kind = simulated(k, duration), FORMATS[(k // 4 + k) % 4]
        path = BIDSPath(subject=f"{k:02d}", task="rest", datatype="eeg", root=root)
        options = {"format": _BIDS_FORMATS.get(kind, "auto")}
        if kind == "fif":
            raw, options = _with_meg(raw), {"format": "FIF"}
            path.update(datatype="meg")
        write_raw_bids(raw, path, allow_preload=True, verbose="error", **options)


def _with_meg(raw):
    info = mne.create_info(["MEG 001"], raw.info["sfreq"], "mag")
    with info._unlock():
        info["dev_head_t"] = mne.transforms.Transform("meg", "head")
    noise = 1e-13 * np.random.default_rng(0).standard_normal((1, raw.n_times))
    meg = mne.io.RawArray(noise, info)
    return raw.copy().add_channels([meg], force_update_info=True)


def timed(*arguments: object) -> tuple[float, float]:
    """Run the command line; return the seconds it took, by the clock and of all processors."""
    command = [sys.executable, "-m", "mne_otica", "run", *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    started, used = time.perf_counter(), _processor_seconds()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started, _processor_seconds() - used


def _processor_seconds():
    """Return the processor time of child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def lines(bids: bool, n_recordings: int) -> Iterator[str]:
    """Yield the rows of the table."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mne-bids warns about missing metadata
        folder = Path(folder)
        if bids:
            make_bids(folder / "bids", n_recordings)
            study = ["--bids-root", folder / "bids"]
        else:
            (folder / "in").mkdir()
            study = make_files(folder / "in", n_recordings)
        yield f"Load of the machine at the start: {os.getloadavg()[0]:.1f}.\n"
        yield "| | seconds | of one worker | processor seconds |\n|---|---|---|---|"
        one, used = timed(*study, "--out", folder / "one")
        yield f"| one worker | {one:.1f} | 1 | {used:.1f} |"
        two, used = timed(*study, "--out", folder / "two", "--n-jobs", 2)
        yield f"| two workers | {two:.1f} | {two / one:.2f} | {used:.1f} |"
        again, used = timed(*study, "--out", folder / "one")
        yield f"| nothing to do | {again:.1f} | {again / one:.2f} | {used:.1f} |"


def memory() -> Iterator[str]:
    """Yield what a recording held at its peak."""
    yield "| recording | held at the peak (MB) |\n|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        for channels, duration in ((16, 60), (32, 600), (64, 1200)):
            path = Path(folder, f"{channels}_raw.fif")
            simulated(0, duration, channels).save(path)
            _, _, held = watched(clean_study, [path], Path(folder, "out"))
            size = f"{channels} channels, {duration} s"
            yield f"| {size} | {held / 1e6:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bids", action="store_true", help="a study in BIDS")
    parser.add_argument("--n", type=int, default=40, help="how many recordings")
    parser.add_argument("--memory", action="store_true", help="memory in place of time")
    parser.add_argument("--write", action="store_true", help="keep the result")
    arguments = parser.parse_args()
    with mne.use_log_level("error"):
        if arguments.memory:
            show(
                "Studies, memory: `python -m benchmarks.study --memory`", memory(), arguments.write
            )
            return
        option = f" --n {arguments.n}" + (" --bids" if arguments.bids else "")
        title = f"Studies, {arguments.n} recordings of 60 s: `python -m benchmarks.study{option}`"
        show(title, lines(arguments.bids, arguments.n), arguments.write)


if __name__ == "__main__":
    main()
