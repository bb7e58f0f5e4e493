"""Time of a fit on the shipped recording, compared with stock MNE.

    python -m benchmarks.fit

The 59 good EEG channels of `mne_otica.datasets.sample`, 24 s at 600 Hz, filtered from 1 to 40 Hz.
Every method fits the same data with the same number of components through ``ICA.fit``, in one
process and on one thread unless the environment says otherwise. "Dependence" is the residual
dependence (`mne_otica.metrics.residual_dependence`), lower is better.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported

import argparse
import time
import warnings
from collections.abc import Iterator

import mne
import numpy as np

from benchmarks.results import PAGE, show
from mne_otica import ICA, datasets
from mne_otica.metrics import residual_dependence

STOCK = {
    "fastica": {},
    "picard": {"ortho": False, "extended": True},
    "infomax": {"extended": True},
}


def row(raw: mne.io.BaseRaw, method: str, n_components: int, repeats: int) -> str:
    seconds = []
    for _ in range(repeats):
        ica = ICA(n_components, method=method, rng=0, fit_params=STOCK.get(method))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            started = time.perf_counter()
            ica.fit(raw)
            seconds.append(time.perf_counter() - started)
    converged = "no" if any("converge" in str(w.message) for w in caught) else "yes"
    sources = ica.get_sources(raw).get_data()
    dependence = residual_dependence(sources, ica.unmixing_matrix_)
    return (
        f"| {n_components} | {method} | {np.median(seconds):.2f} | {ica.n_iter_} | {converged} "
        f"| {dependence:.3f} |"
    )


def lines(args: argparse.Namespace) -> Iterator[str]:
    raw = datasets.sample().filter(1, 40)
    ICA(5).fit(raw)  # loads what is imported late
    yield "| components | method | seconds | iterations | converged | dependence |"
    yield "|---|---|---|---|---|---|"
    for n_components in args.components:
        for method in args.methods:
            yield row(raw, method, n_components, args.repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--components", type=int, nargs="+", default=[15, 30, 59])
    parser.add_argument("--methods", nargs="+", default=["otica", "fastica"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    show("A fit through ICA: `python -m benchmarks.fit`", lines(args), args.write)


if __name__ == "__main__":
    main()
