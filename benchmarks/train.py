"""Fit the curves that turn figures of a component into the probability of an artifact.

Run ``python -m benchmarks.train FOLDER`` to simulate recordings, gather the figures of their
components in FOLDER, one file a recording, add those of the real recordings where there are
any, and fit. ``--write`` puts the curves into ``mne_otica/artifacts/model.json``.

For each kind the log odds are an intercept plus a piecewise linear function of each figure with
fixed knots. Each piece keeps the sign that physiology suggests (the points in the kind's module),
so that more evidence for a kind never lowers its probability. A quadratic penalty draws the values
at the knots towards those points, which matters where data are sparse. The penalty is chosen by
cross-validation, and all reported results are cross-validated over whole recordings.
"""

from __future__ import annotations

import argparse
import datetime
import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import mne
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import mne_otica.artifacts
from benchmarks.truth import DATA, HELD, REAL, Case, few_channels, real, simulated
from mne_otica.artifacts import blink as _blink
from mne_otica.artifacts.kinds import Kind, kinds
from mne_otica.artifacts.model import ACCEPT

MODEL = Path(mne_otica.artifacts.__file__).parent / "model.json"
STREAM = 1601  # of random numbers; benchmarks and tests use others
FIRST_SEED = 0
N_RECORDINGS = 400
FEW = tuple(f"few_{seed}" for seed in range(120))  # recordings of few channels, of the same stream
N_FOLDS = 5
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
# A component of a real recording counts as much as so many simulated ones: of 20 and 60 the
# one that judges all blinks of the real recordings rightly by curves that have not seen them.
REAL_WEIGHT = 60.0
INTERCEPT = -2.0  # log odds before anything is known: one component in eight
# Figures that a recording without positions and names, without volts, or without sensors lacks.
GEOMETRY = ("frontality", "eye_share", "rim", "breadth", "far_field")
VOLTS = ("amplitude",)
SENSORS = ("eog_correlation", "emg_correlation", "locking")


def gather(case: Case) -> list[dict]:
    """Return the figures of each component and kind, with the truth."""
    components = case.components()
    rows = []
    for kind in kinds().values():
        for k in range(len(components)):
            if not kind.gate(components, k):
                figures = kind.figures(components, k)
                rows.append(_row(case, kind.name, k, figures))
    rows += _second_components(case, components)
    return rows


def _row(case: Case, kind: str, k: int, figures: dict[str, float]) -> dict:
    plain = {name: None if np.isnan(v) else float(v) for name, v in figures.items()}
    holds, seen = case.holds[kind][k], case.visibility[kind][k]
    return dict(
        recording=case.name,
        component=k,
        kind=kind,
        holds=None if np.isnan(holds) else int(holds),
        visibility=None if np.isnan(seen) else float(seen),
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


def collect(folder: Path, names: list[str | int]) -> list[dict]:
    """Return the rows of all recordings; what is in the folder already is not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in names:
        path = folder / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(gather(_case(name))))
        rows += json.loads(path.read_text())
    return rows


def _case(name: str | int) -> Case:
    if isinstance(name, int):
        return simulated(name, STREAM)
    if name in FEW:
        return simulated(FEW.index(name), STREAM, few_channels)
    return real(name)


def recordings(n: int) -> list[str | int]:
    """Return the names of all recordings of the training."""
    return [*(REAL if DATA.exists() else ()), *FEW, *range(FIRST_SEED, FIRST_SEED + n)]


def with_gaps(rows: list[dict]) -> list[dict]:
    """Return the rows, and copies that lack what some recordings do not have."""
    copies = []
    for row in rows:
        for lacking in (GEOMETRY, VOLTS, SENSORS):
            gone = [f for f in lacking if row["figures"].get(f) is not None]
            if gone:
                copies.append(row | {"figures": row["figures"] | dict.fromkeys(gone), "copy": True})
    return rows + copies


@dataclass(frozen=True)
class Curves:
    """The parameters of one kind: an intercept, and values at the knots of each figure."""

    kind: Kind

    @property
    def prior(self) -> NDArray[np.float64]:
        """The values at all knots that physiology gives, each figure's for a gap at its end."""
        return np.concatenate(
            [[*(y for _, y in f.points), f.missing] for f in self.kind.features.values()]
        )

    def design(self, rows: list[dict]) -> NDArray[np.float64]:
        """Return the weight of each knot in each row."""
        blocks = []
        for name, feature in self.kind.features.items():
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
        for feature in self.kind.features.values():
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
        for name, feature in self.kind.features.items():
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
    """Return the probability of each row by curves that have not seen its recording."""
    names = sorted({row["recording"] for row in rows})
    simulations = [name for name in names if name.startswith("simulation")]
    # Each real recording is a fold of its own.
    fold = {name: k % N_FOLDS for k, name in enumerate(simulations)}
    fold |= {name: N_FOLDS + k for k, name in enumerate(sorted(set(names) - set(fold)))}
    folds = np.array([fold[row["recording"]] for row in rows])
    holds, weights = truth_and_weights(rows)
    chance = np.zeros(len(rows))
    for k in np.unique(folds):
        out = folds == k
        intercept, values = curves.fit(design[~out], holds[~out], weights[~out], penalty)
        chance[out] = 1 / (1 + np.exp(-(intercept + design[out] @ values)))
    return chance


def truth_and_weights(rows: list[dict]) -> tuple[NDArray, NDArray]:
    holds = np.array([float(row["holds"]) for row in rows])
    is_real = np.array([not row["recording"].startswith("simulation") for row in rows])
    return holds, np.where(is_real, REAL_WEIGHT, 1.0)


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
        right_above_0_9=round(float(holds[chance >= 0.9].mean()), 4),
        reliability=curve,
    )


def fit_kind(kind: Kind, rows: list[dict]) -> dict:
    """Return the curves of one kind and how well they did out of their folds."""
    rows = [row for row in rows if row["kind"] == kind.name and row["holds"] is not None]
    rows = with_gaps(rows)
    curves = Curves(kind)
    design = curves.design(rows)
    holds, weights = truth_and_weights(rows)
    original = np.array(["copy" not in row for row in rows])
    tried = {}
    for penalty in PENALTIES:
        chance = cross_validate(curves, rows, design, penalty)
        tried[penalty] = log_loss(chance[original], holds[original]), chance
    penalty = min(tried, key=lambda p: tried[p][0])
    chance = tried[penalty][1]
    report = summary(chance[original], holds[original])
    print(kind.name, penalty, {k: v for k, v in report.items() if k != "reliability"}, flush=True)
    data = curves.as_data(*curves.fit(design, holds, weights, penalty))
    return data | dict(training=report | dict(penalty=penalty))


def fit_curves(kind: Kind, rows: list[dict], penalty: float) -> dict:
    """Return the curves of one kind, fitted to these recordings with this penalty."""
    rows = with_gaps([r for r in rows if r["kind"] == kind.name and r["holds"] is not None])
    curves = Curves(kind)
    return curves.as_data(*curves.fit(curves.design(rows), *truth_and_weights(rows), penalty))


def draw(path: Path) -> None:
    """Draw the reliability curves of the data file: how often a probability was right."""
    import matplotlib.pyplot as plt

    data = json.loads(MODEL.read_text(encoding="utf-8"))["kinds"]
    figure, ax = plt.subplots(figsize=(4.5, 4), layout="constrained")
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, one in data.items():
        report = one["training"]
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
    parser.add_argument("--gather", action="store_true", help="only gather the figures")
    parser.add_argument("--draw", type=Path, help="draw the reliability of the curves there are")
    args = parser.parse_args()
    mne.set_log_level("ERROR")
    if args.draw:
        draw(args.draw)
        return
    names = recordings(args.n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of short and small recordings
        rows = collect(args.folder, names)
    if args.gather:
        return
    data = dict(
        about="Written by python -m benchmarks.train; not to be edited by hand.",
        date=str(datetime.date.today()),
        simulated=f"stream {STREAM}, seeds {FIRST_SEED} to {FIRST_SEED + args.n - 1}, "
        f"and {len(FEW)} of few channels",
        real=[name for name in names if name in REAL],
        kinds={name: fit_kind(kind, rows) for name, kind in kinds().items()},
    )
    if args.write:
        MODEL.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
