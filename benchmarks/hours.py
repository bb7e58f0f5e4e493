"""Hours of recording: time and memory of `clean_raw`, beside reading, filtering and writing alone.

    python -m benchmarks.hours             all recordings, one after the other
    python -m benchmarks.hours 64x60x500   channels x minutes x Hz
    python -m benchmarks.hours --held-out FOLDER

Each recording is simulated into a file, and cleaned in processes of its own: loaded, and not
loaded with the result written to a file. The peak is that of the resident set above the interpreter
with the package imported; it holds the recording. ``--ways picard fastica`` are MNE's ICA with
ICLabel, which take hours for the longest. ``--held-out`` asks what the low rate costs: the
dependence that fits at both rates leave in every other ten seconds of real recordings, which were
not fitted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import mne
import numpy as np
from scipy.signal import lfilter

from benchmarks.isolated import watched
from benchmarks.results import PAGE, show
from benchmarks.solver import HALF_SECONDS
from mne_otica import clean_raw, datasets
from mne_otica.metrics import residual_dependence
from mne_otica.signals.reading import filtered_copy
from mne_otica.solver._linalg import Channels, project
from mne_otica.solver.otica import unmix

CASES = ("64x60x500", "256x30x500", "8x720x128", "32x120x1000", "64x10x250")
WAYS = ("filter", "loaded", "file")
RIVALS = ("picard", "fastica")
PIECE = 100_000  # samples that are simulated at a time


def recording(n_channels: int, minutes: float, sfreq: float) -> mne.io.RawArray:
    """Simulate Laplace sources with a spectrum that falls above 3 Hz, and blinks."""
    rng = np.random.default_rng(0)
    montage = mne.channels.make_standard_montage("biosemi256")
    places = np.linspace(0, 255, n_channels).astype(int)
    info = mne.create_info([montage.ch_names[k] for k in places], sfreq, "eeg")
    info.set_montage(montage)
    front = np.array([channel["loc"][1] for channel in info["chs"]])
    front = np.exp(60 * (front - front.max()))[:, np.newaxis]
    data = np.empty((n_channels, int(minutes * 60 * sfreq)))
    mixing = 1e-5 * rng.standard_normal((n_channels, n_channels)) / np.sqrt(n_channels)
    pole, state = np.exp(-2 * np.pi * 3 / sfreq), np.zeros((n_channels, 1))
    for start in range(0, data.shape[1], PIECE):
        size = min(PIECE, data.shape[1] - start)
        noise = rng.laplace(size=(n_channels, size))
        sources, state = lfilter([np.sqrt(1 - pole**2)], [1, -pole], noise, zi=state)
        data[:, start : start + size] = mixing @ sources
        data[:, start : start + size] += 5e-7 * rng.standard_normal((n_channels, size))
    blink = 150e-6 * np.hanning(int(0.35 * sfreq))
    at = 2 * sfreq
    while at < data.shape[1] - 2 * sfreq:
        data[:, int(at) : int(at) + len(blink)] += front * blink * rng.uniform(0.7, 1.3)
        at += sfreq * rng.uniform(2, 7)
    return mne.io.RawArray(data, info, copy=None)


def by_iclabel(raw: mne.io.BaseRaw, method: str) -> mne.io.BaseRaw:
    from mne_icalabel import label_components

    fit_on = raw.copy().filter(1.0, min(100.0, 0.45 * raw.info["sfreq"]))
    fit_on.set_eeg_reference("average")
    options = dict(picard=dict(ortho=False, extended=True), fastica={})[method]
    ica = mne.preprocessing.ICA(method=method, fit_params=options, random_state=0)
    ica.fit(fit_on)
    labels = label_components(fit_on, ica, method="iclabel")["labels"]
    ica.exclude = [k for k, label in enumerate(labels) if label == "eye blink"]
    return ica.apply(raw.copy())


def clean(path: str, way: str) -> tuple[int, str]:
    """Read, clean in one way and write; return the bytes of the samples, and the verdict."""
    verdict, out = "", f"{path}_out_raw.fif"
    raw = mne.io.read_raw_fif(path, preload=way != "file")
    if way == "filter":
        raw.copy().filter(1.0, 40.0).save(out)
    elif way in RIVALS:
        by_iclabel(raw, way).save(out)
    else:
        result = clean_raw(raw)
        verdict = result.verdict
        result.raw.save(out)
    return int(8 * raw.n_times * len(raw.ch_names)), verdict


def measured(path: str, way: str) -> dict:
    """Measure one way in this process."""
    warnings.simplefilter("ignore")
    clean_raw(datasets.sample())  # what is imported late
    clock = time.perf_counter()
    (data, verdict), processor, peak = watched(clean, path, way)
    clock = time.perf_counter() - clock
    for written in Path(path).parent.glob("*_out_raw*.fif"):
        written.unlink()
    return dict(data=data, processor=processor, clock=clock, peak=peak, verdict=verdict)


def lines(cases: list[str], ways: list[str]) -> Iterator[str]:
    yield "| recording | data, MB | way | processor, s | clock, s | peak, MB | times the data |"
    yield "|---|---|---|---|---|---|---|"
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "long_raw.fif")
            call = [sys.executable, "-m", "benchmarks.hours", case, "--into", path]
            subprocess.run(call, check=True)
            for way in ways:
                call = [sys.executable, "-m", "benchmarks.hours", case, "--way", way, path]
                answer = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout
                found = json.loads(answer.splitlines()[-1])
                yield (
                    f"| {case} | {found['data'] / 1e6:.0f} | {way} | {found['processor']:.1f} "
                    f"| {found['clock']:.0f} | {found['peak'] / 1e6:.0f} "
                    f"| {found['peak'] / found['data']:.2f} |"
                )


def held_out(folder: Path) -> Iterator[str]:
    """Yield the dependence that fits at both rates leave in samples that were not fitted."""
    yield "Fits as in `clean_raw`, of recordings with more than 200 Hz; nats over 5 seeds."
    yield "| recording | Hz | low, Hz | fitted half | full rate | low rate | difference | SD |"
    yield "|---|---|---|---|---|---|---|---|"
    more = []
    for path in sorted(folder.glob("*raw.fif*")):
        raw = mne.io.read_raw_fif(path, preload=True).pick("eeg", exclude="bads")
        if raw.info["sfreq"] <= 200:
            continue
        low, full = filtered_copy(raw, 1.0, 40.0), raw.copy().filter(1.0, 40.0)
        both = [(one.get_data(), one.info["sfreq"]) for one in (full, low)]
        for number, half in enumerate(("first", "second")):
            parts = [cut(*one, number) for one in both]
            K, mean = Channels(parts[0][0]).whitening()
            rest, left = project(K, parts[0][1], mean, np.float64), []
            for fitted, _ in parts:
                own = K @ (fitted - fitted.mean(axis=1, keepdims=True))
                again, centre = Channels(own).whitening()
                white = project(again, own, centre, np.float32)
                found = [unmix(white, refine="none", random_state=k).W @ again for k in range(5)]
                left.append([residual_dependence(W @ rest, W) for W in found])
            more.append(np.mean(left[1]) - np.mean(left[0]))
            scatter = np.std(left[0], ddof=1)
            name, rates = path.name.split("_raw")[0], [f"{sfreq:.0f}" for _, sfreq in both]
            cells = [name, *rates, half, *(f"{np.mean(x):.3f}" for x in left)]
            cells += [f"{more[-1]:+.3f}", f"{scatter:.3f}"]
            yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"Mean of the differences: {np.mean(more):+.4f}, largest: {max(more):+.3f} nats."


def cut(signals: np.ndarray, sfreq: float, number: int) -> tuple[np.ndarray, np.ndarray]:
    chosen = np.arange(signals.shape[1]) // int(HALF_SECONDS * sfreq) % 2 == number
    return signals[:, chosen], signals[:, ~chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="channels x minutes x Hz")
    parser.add_argument("--into", help="only simulate a recording into this file")
    parser.add_argument("--way", nargs=2, help="measure one way and file here, as JSON")
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS + RIVALS)
    parser.add_argument("--held-out", type=Path, help="a folder of real recordings")
    parser.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("error")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if args.into:
        n_channels, minutes, sfreq = args.cases[0].split("x")
        recording(int(n_channels), float(minutes), float(sfreq)).save(args.into)
    elif args.held_out:
        title = "Fits at the low rate, held out: `python -m benchmarks.hours --held-out FOLDER`"
        show(title, held_out(args.held_out), args.write)
    elif args.way:
        print(json.dumps(measured(args.way[1], args.way[0])))
    else:
        table = lines(args.cases or list(CASES), args.ways)
        show("Hours of recording: `python -m benchmarks.hours`", table, args.write)


if __name__ == "__main__":
    main()
