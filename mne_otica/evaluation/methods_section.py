"""The paragraph for the methods section, with the figures of a study, and its references."""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from statistics import median
from typing import TYPE_CHECKING, Any

import mne
import numpy as np
from mne.io import BaseRaw

from mne_otica import __version__
from mne_otica.artifacts.kinds import kinds
from mne_otica.evaluation.harm import MARGIN
from mne_otica.evaluation.sentences import PLURALS, component_names

if TYPE_CHECKING:
    from mne_otica.removal.remove import Taken

Facts = Mapping[str, Any]
_MARK = "cleaned by mne-otica "


def recording_facts(raw: BaseRaw, filtered: BaseRaw, *band: float | None) -> dict[str, Any]:
    """Return what a methods section says about a recording and the copy that was fitted."""
    data = filtered._data
    mean = np.abs(data.mean(axis=0)).max(initial=0.0)
    # Zero but for rounding in single precision
    average = mean <= 1e-6 * max(data.max(initial=0.0), -data.min(initial=0.0))
    unfiltered = band == (None, None)
    return {
        "sfreq": raw.info["sfreq"],
        "n_channels": len(filtered.ch_names),
        "bads": list(raw.info["bads"]),
        "reference": "average" if average else "as recorded",
        "filter": "none" if unfiltered else "zero-phase FIR, firwin, Hamming window",
        "thresholds": {one.name: one.remove for one in kinds().values()},
    }


def mark_cleaned(info: mne.Info, taken: "Taken") -> None:
    """State in the description of a cleaned recording what was removed from it."""
    if not taken.courses.any():
        return
    told = []
    for part in taken.parts:
        what = "chosen by hand" if part.kind is None else PLURALS[part.kind]
        told.append(f"{what} ({part.how}) in {', '.join(component_names(part.components))}")
    before = (info["description"] or "").partition(_MARK)[0].removesuffix("; ")
    before = before and f"{before}; "
    info["description"] = f"{before}{_MARK}{__version__}: {', '.join(told)}"


def is_cleaned(info: mne.Info) -> bool:
    """Return whether the description says that artifacts were removed."""
    return _MARK in (info["description"] or "")


def methods_text(each: Sequence[Facts], n_failed: int = 0) -> str:
    """Return the paragraph about recordings, from what `Cleaned.to_dict` returns of each."""
    settings = [facts["settings"] for facts in each]
    versions = each[0]["versions"]
    bids = f", MNE-BIDS {versions['mne_bids']} [@Appelhoff2019]" if "mne_bids" in versions else ""
    kinds = dict.fromkeys(kind for facts in each for kind in facts["kinds"])
    parts = [
        f"EEG of {len(each)} recording{'s' * (len(each) > 1)} was cleaned with mne-otica "
        f"{versions['mne_otica']} (MNE-Python {versions['mne']} [@Gramfort2013]{bids}, NumPy "
        f"{versions['numpy']}, SciPy {versions['scipy']}, Python {versions['python']}).",
        _fit(settings),
        _found(settings[0]),
        *(_removed(kind, each) for kind in kinds),
        _statuses(each, n_failed),
    ]
    return " ".join(part for part in parts if part)


def references() -> str:
    """Return the references that paragraphs cite, in BibTeX."""
    return files("mne_otica.evaluation").joinpath("references.bib").read_text(encoding="utf-8")


def _fit(settings: Sequence[Facts]) -> str:
    def spread(name: str, form: str = "{:.0f}") -> str:
        return _spread([one[name] for one in settings], form)

    def common(name: str) -> str:
        return " or ".join(dict(Counter(one[name] for one in settings).most_common()))

    one = settings[0]
    band = f"between {_limit(one['l_freq'])} and {_limit(one['h_freq'])}"
    bads = _spread([len(each["bads"]) for each in settings], "{:.0f}")
    text = (
        f"An independent component analysis by optimal transport [@Jha2026] was fitted on a copy "
        f"of the {spread('n_channels')} good EEG channels ({bads} marked bad), sampled at "
        f"{spread('sfreq', '{:g}')} Hz, filtered {band} ({common('filter')}), reference "
        f"{common('reference')}; rank {spread('rank')}, {spread('n_components_used')} components, "
        f"seed {one['random_state']}."
    )
    if one["reject_by_annotation"]:
        text += " Spans annotated as bad were left out."
    onsets = [(each.get("evoked_free") or {}).get("onsets", {}) for each in settings]
    if conditions := list(dict.fromkeys(name for one in onsets for name in one)):
        counts = {name: [len(one[name]) for one in onsets if name in one] for name in conditions}
        told = "; ".join(f"{name}: {_spread(n, '{:.0f}')}" for name, n in counts.items())
        text += f" The average responses to the events ({told}) were subtracted from this copy."
    return text


def _found(one: Facts) -> str:
    told = ", ".join(f"{PLURALS[kind]} {one['thresholds'][kind]:g}" for kind in one["artifacts"])
    part = "only the part that belongs to the artifact was"
    what = "entire components were" if one["removal"] == "component" else part
    return (
        f"Components that hold an artifact were found by their probability (at least: {told}); "
        f"{what} removed from the unfiltered recordings, and only if this reduced the artifact "
        "at the channels."
    )


def _removed(kind: str, each: Sequence[Facts]) -> str:
    """Return the sentence about one kind."""
    name = PLURALS[kind].capitalize()
    removed = [one["kinds"][kind] for one in each if one["kinds"].get(kind, {}).get("components")]
    if not removed:
        return f"{name}: removed from none of the {len(each)}."
    told = [f"{_spread([len(part['components']) for part in removed], '{:.0f}')} component(s)"]
    if any(part["samples"] for part in removed):
        told.append(f"{_spread([part['n_removed'] for part in removed], '{:.0f}')} events")
    if benefits := [part["gone"] for part in removed if part["gone"] is not None]:
        what = "RMS in its band" if kind == "muscle" else "average artifact"
        where = f"at the {'' if kind == 'electrode' else 'five '}channels most affected"
        told.append(f"{_percent(benefits)} of the {what} removed {where}")
    known = [(part["cost"], part["harm"]["margin"]) for part in removed if part["cost"] is not None]
    for where, whole in ((f"more than {MARGIN:g} s away from it", False), ("in total", True)):
        if harms := [cost for cost, margin in known if (margin is None) == whole]:
            told.append(f"{_percent(harms, 1)} of the signal removed {where}")
    return f"{name}: removed from {len(removed)} of {len(each)} ({'; '.join(told)})."


def _statuses(each: Sequence[Facts], n_failed: int) -> str:
    counts = Counter(facts["status"] for facts in each)
    told = []
    if unchanged := counts["none"] + counts["unsure"]:
        told.append(f"{unchanged} recording(s) were left unchanged")
    if counts["poor"]:
        limits = "less than 50 % removed, or more than 30 % elsewhere, of heartbeats at sham beats"
        told.append(f"{counts['poor']} had a poor result ({limits})")
    if n_failed:
        told.append(f"{n_failed} could not be processed")
    if by_hand := sum("by hand" in facts["verdict"] for facts in each):
        told.append(f"in {by_hand} recording(s), components were chosen by hand")
    return f"{'; '.join(told)}.".capitalize() if told else ""


def _limit(frequency: float | None) -> str:
    return "no limit" if frequency is None else f"{frequency:g} Hz"


def _spread(values: Sequence[float], form: str) -> str:
    """Return the median, and the range if values differ."""
    show = form.format
    known = [value for value in values if value is not None]
    if not known:
        return "unknown"
    low, high = show(min(known)), show(max(known))
    return low if low == high else f"{show(median(known))} (range {low} to {high})"


def _percent(shares: Sequence[float], digits: int = 0) -> str:
    return _spread([100 * share for share in shares], f"{{:.{digits}f}} %")
