"""How many trials of each condition have artifacts, and whether the conditions differ."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import stats

from mne_otica.evaluation.sentences import PLURALS
from mne_otica.utils.arrays import Samples

LEVEL = 0.05  # error rate of the tests, over all kinds; intervals hold 1 - LEVEL
Row = dict[str, Any]


def trials_with(samples: Samples, trials: Samples, bounds: tuple[int, int]) -> Samples:
    """Return how many artifacts each trial has."""
    start, stop = (np.searchsorted(np.sort(samples), trials + bound) for bound in bounds)
    return stop - start


def share_row(name: str, kind: str, condition: str, counts: Samples) -> Row:
    """Return the share of trials with an artifact, and Wilson's interval."""
    n_with = int(np.sum(counts > 0))
    low, high = stats.binomtest(n_with, len(counts)).proportion_ci(1 - LEVEL, method="wilson")
    return {
        "recording": name,
        "kind": kind,
        "condition": condition,
        "trials": len(counts),
        "artifacts": int(counts.sum()),
        "trials_with": n_with,
        "rate": float(counts.mean()),
        "share": n_with / len(counts),
        "share_low": float(low),
        "share_high": float(high),
    }


def difference(name: str, kind: str, rows: Sequence[Row], n_tests: int) -> Row:
    """Return whether the shares of trials with an artifact differ between conditions."""
    table = np.array([[row["trials_with"], row["trials"] - row["trials_with"]] for row in rows])
    p_value = np.nan
    if len(rows) > 1 and (table.sum(axis=0) > 0).all():
        exact = len(rows) == 2
        p_value = float((stats.fisher_exact if exact else stats.chi2_contingency)(table)[1])
    differ = bool(p_value < LEVEL / n_tests)
    return {"recording": name, "kind": kind, "p_value": p_value, "differ": differ}


def difference_line(row: Row, artifacts: Sequence[Row]) -> str:
    """Return the sentence about artifacts that differ between conditions."""
    own = [one for one in artifacts if one["kind"] == row["kind"]]
    if not row["recording"].startswith("mean of"):
        own = [one for one in own if one["recording"] == row["recording"]]
    shares: dict[str, list[float]] = {}
    for one in own:
        shares.setdefault(one["condition"], []).append(one["share"])
    told = ", ".join(
        f"{100 * np.mean(s):.0f} % of the trials of {name}" for name, s in shares.items()
    )
    name = f"{row['recording']}: " if row["recording"] else ""
    return f"{name}{PLURALS[row['kind']]} differ: in {told} (p = {row['p_value']:.2g})"


def condition_lines(found: dict[str, Samples], facts: dict[str, Any], sfreq: float) -> list[str]:
    """Return a sentence for each kind that differs between the conditions of a recording."""
    lines, bounds = [], tuple(round(limit * sfreq) for limit in facts["window"])
    for kind, samples in found.items():
        rows = []
        for name, seconds in facts["onsets"].items():
            trials = np.round(np.multiply(seconds, sfreq))
            rows.append(share_row("", kind, name, trials_with(samples, trials, bounds)))
        row = difference("", kind, rows, len(found))
        lines += [difference_line(row, rows)] if row["differ"] else []
    return lines


def mean_differences(artifacts: Sequence[Row]) -> Iterator[Row]:
    """Yield a test of the shares of trials over recordings, for each kind."""
    kinds = dict.fromkeys(row["kind"] for row in artifacts)
    for kind in kinds:
        own = [row for row in artifacts if row["kind"] == kind]
        names = list(dict.fromkeys(row["condition"] for row in own))
        shares: dict[str, dict[str, float]] = {}
        for row in own:
            shares.setdefault(row["recording"], {})[row["condition"]] = row["share"]
        whole = [list(one.values()) for one in shares.values() if len(one) == len(names)]
        p_value = np.nan
        # The same difference in all recordings has no error to compare it with.
        if len(names) > 1 and len(whole) > 1 and np.ptp(np.diff(whole), axis=0).any():
            test = stats.ttest_rel if len(names) == 2 else stats.friedmanchisquare
            p_value = float(test(*np.transpose(whole)).pvalue)
        name = f"mean of {len(whole)}"
        differ = bool(p_value < LEVEL / len(kinds))
        yield {"recording": name, "kind": kind, "p_value": p_value, "differ": differ}
