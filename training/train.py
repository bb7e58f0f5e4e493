"""Fit the curves that turn figures of a component into the probability of an artifact.

Run ``python -m training.train FOLDER`` to gather the figures of all components in FOLDER, one file
a recording, and fit: real recordings with what their EOG, ECG and tables prove, with and without
those channels; real artifacts put into real EEG, and controls (`benchmarks.put_in`); and simulated
recordings, which widen the range. ``--write`` puts the curves into
``mne_otica/artifacts/model.json``.

For each kind the log odds are an intercept plus a piecewise linear function of each figure with
fixed knots. Each piece keeps the sign that physiology suggests (the file of the priors beside),
so that more evidence for a kind never lowers its probability. A quadratic penalty draws the values
at the knots towards those points, which matters where data are sparse. The penalty is chosen by
cross-validation, and all reported results are cross-validated: of the real EEG that artifacts were
put into, and of the real recordings, the curves have seen neither.
"""

from __future__ import annotations

import argparse
import datetime
import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import mne
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import mne_otica.artifacts
from benchmarks import put_in
from benchmarks.truth import DATA, HELD, REAL, Case, few_channels, real, simulated
from mne_otica.artifacts import blink as _blink
from mne_otica.artifacts.kinds import ACCEPT, kinds, model_data
from training.priors import PRIORS, Prior

MODEL = Path(mne_otica.artifacts.__file__).parent / "model.json"
STREAM = 1601  # of random numbers; benchmarks and tests use others
N_RECORDINGS = 140  # simulated ones
N_FEW = 40  # simulated ones of few channels, of the same stream
N_FOLDS = 8
PENALTIES = (1.0, 3.0, 10.0)
# What a component counts: of 20 and 60 for real recordings the one that judges all blinks of the
# real recordings rightly by curves that have not seen them. Put-in ones are many, but alike.
WEIGHTS = {"real": 60.0, "put in": 5.0, "control": 5.0, "simulation": 1.0}
INTERCEPT = -2.0  # log odds before anything is known: one component in eight
# Figures that a recording without positions and names, without volts, or without sensors lacks.
GEOMETRY = ("frontality", "eye_share", "rim", "breadth")
VOLTS = ("amplitude",)
SENSORS = ("eog_correlation", "emg_correlation")


def gather(case: Case, source: str, group: str) -> list[dict]:
    """Return the figures of each component and kind, with the truth."""
    components = case.components()
    rows = []
    for kind in kinds().values():
        for k in np.flatnonzero(np.isfinite(case.holds[kind.name])):
            if not kind.gate(components, k):
                rows.append(_row(case, kind.name, k, kind.figures(components, k)))
    rows += _second_components(case, components)
    return [row | dict(source=source, group=group) for row in rows]


def _row(case: Case, kind: str, k: int, figures: dict[str, float]) -> dict:
    plain = {name: None if np.isnan(v) else float(v) for name, v in figures.items()}
    holds = case.holds[kind][k]
    return dict(
        recording=case.name,
        component=int(k),
        kind=kind,
        holds=None if np.isnan(holds) else int(holds),
        figures=plain,
    )


def _second_components(case: Case, components: object) -> list[dict]:
    """Return the figures of what happens at the blinks of the component that shows them best."""
    seen = np.nan_to_num(case.visibility["blink"])
    best = int(np.argmax(seen))
    if seen[best] < HELD:
        return []
    blinks = np.round(components.blinks[best].peaks).astype(int)
    rows = []
    for k in range(len(components)):
        if k != best and not _blink.gate(components, k):
            figures = _blink.along(components, k, blinks)
            if figures["coincidence"] >= _blink.TOGETHER:
                rows.append(_row(case, "blink", k, figures))
    return rows


def cases(n: int) -> Iterator[tuple[str, str, str, object]]:
    """Yield a name, the source, the group of the fold, and what makes the case."""
    if DATA.exists():
        for name in REAL:
            yield name, "real", name, lambda name=name: real(name)
            yield f"{name} shown", "real", name, lambda name=name: real(name, True)
        for kind in (*put_in.KINDS, ""):
            for pair in put_in.pairs(kind) if kind else put_in.controls():
                name = f"{pair.name} {pair.size:.9f}".replace("/", " ")
                source = "put in" if kind else "control"
                yield name, source, pair.host, lambda pair=pair: put_in.put_in_case(pair)
    for seed in range(N_FEW):
        make = lambda seed=seed: simulated(seed, STREAM, few_channels)  # noqa: E731
        yield f"few{seed}", "simulation", f"simulation {seed % N_FOLDS}", make
    for seed in range(n):
        make = lambda seed=seed: simulated(seed, STREAM)  # noqa: E731
        yield f"sim{seed}", "simulation", f"simulation {seed % N_FOLDS}", make


def collect(folder: Path, n: int) -> list[dict]:
    """Return the rows of all recordings; what is in the folder already is not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, source, group, make in cases(n):
        path = folder / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(gather(make(), source, group)))
        rows += json.loads(path.read_text())
    return rows


def with_gaps(rows: list[dict]) -> list[dict]:
    """Return the rows, and copies that lack what some recordings do not have."""
    copies = []
    for row in rows:
        for lacking in (GEOMETRY, VOLTS, SENSORS):
            gone = [f for f in lacking if row["figures"].get(f) is not None]
            if gone and row["source"] == "simulation":
                copies.append(row | {"figures": row["figures"] | dict.fromkeys(gone), "copy": True})
    return rows + copies


@dataclass(frozen=True)
class Curves:
    """The parameters of one kind: an intercept, and values at the knots of each figure."""

    priors: dict[str, Prior]

    @property
    def prior(self) -> NDArray[np.float64]:
        """The values at all knots that physiology gives, each figure's for a gap at its end."""
        return np.concatenate(
            [[*(y for _, y in f.points), f.missing] for f in self.priors.values()]
        )

    def design(self, rows: list[dict]) -> NDArray[np.float64]:
        """Return the weight of each knot in each row."""
        blocks = []
        for name, feature in self.priors.items():
            at = np.array([x for x, _ in feature.points])
            block = np.zeros((len(rows), len(at) + 1))
            there = np.array([name in row["figures"] for row in rows])
            # None, where the figure is not known, becomes NaN.
            values = np.array([row["figures"].get(name) for row in rows], dtype=float)
            known = np.isfinite(values)
            block[there & ~known, -1] = 1
            for k, unit in enumerate(np.eye(len(at))):
                # What linear interpolation gives to each knot.
                block[known, k] = np.interp(values[known], at, unit)
            blocks.append(block)
        return np.hstack(blocks)

    def steps(self) -> tuple[NDArray[np.float64], list[tuple[float | None, float | None]]]:
        """Return the matrix from increments to values at knots, and the bounds of increments."""
        n = len(self.prior)
        matrix, bounds, start = np.zeros((n, n)), [], 0
        for feature in self.priors.values():
            size = len(feature.points)
            matrix[start : start + size, start : start + size] = np.tri(size)
            matrix[start + size, start + size] = 1
            bounds.append((None, None))
            for step in np.diff([y for _, y in feature.points]):
                bounds.append((0, None) if step > 0 else (None, 0) if step < 0 else (0, 0))
            bounds.append((None, None))
            start += size + 1
        return matrix, bounds

    def fit(
        self, design: NDArray[np.float64], holds: NDArray, weights: NDArray, penalty: float
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the intercept and the values at the knots."""
        matrix, bounds = self.steps()
        prior = self.prior
        x = design @ matrix

        def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            logit = theta[0] + x @ theta[1:]
            away = matrix @ theta[1:] - prior
            chance = 1 / (1 + np.exp(-logit))
            value = weights @ (np.logaddexp(0, logit) - holds * logit)
            value += penalty * (away @ away + (theta[0] - INTERCEPT) ** 2)
            slope = weights * (chance - holds)
            gradient = np.r_[slope.sum(), x.T @ slope]
            gradient[1:] += 2 * penalty * matrix.T @ away
            gradient[0] += 2 * penalty * (theta[0] - INTERCEPT)
            return value, gradient

        start = np.r_[INTERCEPT, np.linalg.solve(matrix, prior)]
        options = dict(maxiter=2000, maxfun=4000)
        found = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None), *bounds],
            options=options,
        )
        return float(found.x[0]), matrix @ found.x[1:]

    def as_data(self, intercept: float, values: NDArray[np.float64]) -> dict:
        """Return the curves as the package reads them."""
        features, start = {}, 0
        for name, feature in self.priors.items():
            size = len(feature.points)
            features[name] = dict(
                at=[x for x, _ in feature.points],
                points=[round(float(v), 3) for v in values[start : start + size]],
                missing=round(float(values[start + size]), 3),
            )
            start += size + 1
        return dict(intercept=round(intercept, 3), features=features)


def log_loss(chance: NDArray[np.float64], holds: NDArray) -> float:
    chance = np.clip(chance, 1e-6, 1 - 1e-6)
    return float(-np.mean(holds * np.log(chance) + (1 - holds) * np.log(1 - chance)))


def cross_validate(
    curves: Curves, rows: list[dict], design: NDArray[np.float64], penalty: float
) -> NDArray[np.float64]:
    """Return the probability of each row by curves that have not seen its recording or host."""
    folds = np.array([crc32(row["group"].encode()) % N_FOLDS for row in rows])
    holds, weights = truth_and_weights(rows)
    chance = np.zeros(len(rows))
    for k in np.unique(folds):
        out = folds == k
        intercept, values = curves.fit(design[~out], holds[~out], weights[~out], penalty)
        chance[out] = 1 / (1 + np.exp(-(intercept + design[out] @ values)))
    return chance


def truth_and_weights(rows: list[dict]) -> tuple[NDArray, NDArray]:
    holds = np.array([float(row["holds"]) for row in rows])
    return holds, np.array([WEIGHTS[row["source"]] for row in rows])


def summary(chance: NDArray[np.float64], holds: NDArray) -> dict:
    """Return how good probabilities are: Brier score, answers, and the reliability curve."""
    yes, true = chance >= ACCEPT, holds == 1
    edges = np.array([0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0001])
    bins = np.digitize(chance, edges) - 1
    curve = [
        dict(
            above=float(edges[k]),
            n=int((bins == k).sum()),
            said=round(float(chance[bins == k].mean()), 4),
            right=round(float(holds[bins == k].mean()), 4),
        )
        for k in range(len(edges) - 1)
        if (bins == k).any()
    ]
    return dict(
        n=len(holds),
        n_holding=int(true.sum()),
        brier=round(float(np.mean((chance - holds) ** 2)), 5),
        log_loss=round(log_loss(chance, holds), 5),
        sensitivity=round(float(yes[true].mean()), 4) if true.any() else None,
        specificity=round(float((~yes[~true]).mean()), 5),
        right_above_0_9=round(float(holds[chance >= 0.9].mean()), 4) if yes.any() else None,
        reliability=curve,
    )


def fit_kind(kind: str, rows: list[dict]) -> dict:
    """Return the curves of one kind and how well they did out of their folds."""
    rows = [row for row in rows if row["kind"] == kind and row["holds"] is not None]
    rows = with_gaps(rows)
    curves = Curves(PRIORS[kind])
    design = curves.design(rows)
    holds, weights = truth_and_weights(rows)
    original = np.array(["copy" not in row for row in rows])
    is_real = original & np.array([row["source"] != "simulation" for row in rows])
    judge = is_real if holds[is_real].sum() >= 5 else original
    tried = {}
    for penalty in PENALTIES:
        chance = cross_validate(curves, rows, design, penalty)
        tried[penalty] = log_loss(chance[judge], holds[judge]), chance
    penalty = min(tried, key=lambda p: tried[p][0])
    chance = tried[penalty][1]
    parts = {"simulated": original & ~is_real, "real": is_real}
    reports = {
        name: summary(chance[some], holds[some]) for name, some in parts.items() if some.any()
    }
    for name, report in reports.items():
        short = {k: v for k, v in report.items() if k != "reliability"}
        print(kind, name, penalty, short, flush=True)
    return fitted(kind, rows, penalty) | dict(training=reports | dict(penalty=penalty))


def fitted(kind: str, rows: list[dict], penalty: float) -> dict:
    """Return the curves of one kind, as the package reads them."""
    curves, (holds, weights) = Curves(PRIORS[kind]), truth_and_weights(rows)
    return curves.as_data(*curves.fit(curves.design(rows), holds, weights, penalty))


def curves_without(names: set[str], rows: list[dict], only: str | None = None) -> dict[str, dict]:
    """Return the curves of one kind, or of all, that recordings with these names had no part in."""
    penalties = {kind: one["training"]["penalty"] for kind, one in model_data()["kinds"].items()}
    found = {}
    for kind in penalties if only is None else [only]:
        own = [row for row in rows if row["kind"] == kind and row["holds"] is not None]
        own = [row for row in own if not any(name in row["recording"] for name in names)]
        found[kind] = fitted(kind, with_gaps(own), penalties[kind])
    return found


def draw(path: Path) -> None:
    """Draw the reliability curves of the data file: how often a probability was right."""
    import matplotlib.pyplot as plt

    data = json.loads(MODEL.read_text(encoding="utf-8"))["kinds"]
    figure, ax = plt.subplots(figsize=(4.5, 4), layout="constrained")
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, one in data.items():
        report = one["training"].get("real", one["training"])
        said, right = zip(*[(b["said"], b["right"]) for b in report["reliability"]], strict=True)
        ax.plot(said, right, "o-", markersize=4, label=f"{name}, Brier {report['brier']:.4f}")
    ax.set(xlabel="probability given", ylabel="share that held the artifact")
    ax.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the figures are kept")
    parser.add_argument("--n", type=int, default=N_RECORDINGS, help="simulated recordings")
    parser.add_argument("--write", action="store_true", help="put the curves into the package")
    parser.add_argument("--kinds", nargs="*", help="fit these only, and keep the other curves")
    parser.add_argument("--draw", type=Path, help="draw the reliability of the curves there are")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    if args.draw:
        draw(args.draw)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of short and small recordings
        rows = collect(args.folder, args.n)
    fitted = {name: fit_kind(name, rows) for name in args.kinds or kinds()}
    data = json.loads(MODEL.read_text(encoding="utf-8"))
    data |= dict(
        about="Written by python -m training.train; not to be edited by hand.",
        date=str(datetime.date.today()),
        simulated=f"stream {STREAM}, {args.n} recordings and {N_FEW} of few channels",
        real=list(REAL),
        kinds=data["kinds"] | fitted,
    )
    if args.write:
        MODEL.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
