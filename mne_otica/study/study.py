"""Clean many recordings, resume interrupted runs, and summarise the study on one page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mne.utils import logger, verbose

from mne_otica import __version__
from mne_otica.cleaning.decide import DEFAULT, check_artifacts
from mne_otica.ica import ICA
from mne_otica.removal.remove import REMOVALS
from mne_otica.signals.reading import check_band
from mne_otica.study import storage as files
from mne_otica.study.access import Study, counted
from mne_otica.study.inputs import Recording, Unit, find_bids, find_files, group
from mne_otica.study.rows import Row, badness, kept_rows, other_rows
from mne_otica.study.stages import finished, planned, process
from mne_otica.study.state import STAGES, Options
from mne_otica.study.summary import write_summary
from mne_otica.study.workers import run_units
from mne_otica.utils.checks import _check_option, _validate_flag, _validate_number, _validate_type

__all__ = ["clean_study"]

Filter = str | Sequence[str] | None


@verbose
def clean_study(
    inputs: Sequence[str | Path] | None = None,
    out: str | Path | None = None,
    *,
    bids_root: str | Path | None = None,
    subject: Filter = None,
    session: Filter = None,
    task: Filter = None,
    run: Filter = None,
    datatype: str | None = None,
    artifacts: str | Sequence[str] = DEFAULT,
    removal: str = "events",
    events: str | Sequence[str] | None = None,
    n_components: int | float | None = None,
    l_freq: float | None = 1.0,
    h_freq: float | None = 40.0,
    random_state: int | None = 0,
    max_components: int = 2,
    reject_by_annotation: bool = True,
    find_bad_channels: bool = True,
    stability: bool = False,
    stages: Sequence[str] = STAGES,
    concatenate_runs: bool = False,
    n_jobs: int = 1,
    dask: str | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    on_error: str = "continue",
    verbose: bool | str | int | None = None,
) -> Study:
    """Remove blinks and other artifacts from many recordings.

    Parameters
    ----------
    inputs : sequence of path-like | None
        Files in any format that MNE reads; None with ``bids_root``.
    out : path-like | None
        The output folder; nothing is written elsewhere. None is
        ``derivatives/mne-otica`` in ``bids_root``.
    bids_root : path-like | None
        The top folder of a BIDS study, in place of ``inputs``.
    subject, session, task, run : str | sequence of str | None
        The recordings of a BIDS study to clean; None means all.
    datatype : "eeg" | "meg" | None
        The BIDS folder with the EEG channels; None uses the EEG folder of a subject, or the MEG
        folder if there is no EEG folder.
    artifacts : str | sequence of str
        The kinds of artifacts to remove. This and the other parameters of the cleaning are those of
        :func:`mne_otica.clean_raw`.
    removal : "events" | "component"
        Whether to remove only the artifacts, or whole components. Components that a
        person marked as bad are always removed entirely.
    events : str | sequence of str | None
        The conditions: trial types of ``events.tsv`` in BIDS, or names of annotations. If passed,
        the ICA is fitted without the evoked responses, see :func:`mne_otica.clean_raw`.
    n_components : int | float | None
        The number of components.
    l_freq, h_freq : float | None
        The band that the ICA is fitted on, in Hz.
    random_state : int | None
        The seed.
    max_components : int
        The maximum number of blink components.
    reject_by_annotation : bool
        Whether to leave out spans annotated as bad. Of the artifacts in these spans only blinks
        are removed, unless whole components are.
    find_bad_channels : bool
        Whether to leave out channels that look broken. A channel that does in one of several
        recordings with one ICA is left out of all of them.
    stability : bool
        Whether to measure how reproducible each component is, see
        :func:`mne_otica.stability`. The index, and the number of refits that matched, become
        columns of ``components.tsv``, and of the summary for the components removed.
    stages : sequence of str
        The stages to run, of ``"fit"``, ``"find"``, ``"apply"`` and ``"evaluate"``.
    concatenate_runs : bool
        Whether to fit one ICA on all recordings of a session (BIDS), or on all files whose
        names differ only in ``run-``. Each recording is still cleaned and evaluated by itself.
    n_jobs : int
        The number of recordings to clean in parallel, each in a process with one thread; -1 uses
        all processors. More than one needs joblib
        (``mne-otica[parallel]``).
    dask : str | None
        The address of the scheduler of a Dask cluster to run on, in place of ``n_jobs``.
    overwrite : bool
        Whether to run finished stages again. Tables that people edited are kept in any case.
    dry_run : bool
        Whether to only print what would be done.
    on_error : "continue" | "abort"
        What to do when a recording fails.
    %(verbose)s

    Returns
    -------
    study : instance of Study
        One row per recording.

    Notes
    -----
    A finished stage is run again only if the recording, its parameters or the version of this
    package changed. A run that is killed leaves no partial files, and the next run resumes
    where it stopped.

    The components that ``apply`` removes are those with the status ``bad`` in
    ``components.tsv``. Edit it and run ``apply`` and ``evaluate`` again, or all stages.
    """
    _check_option("on_error", on_error, ("continue", "abort"))
    for stage in stages:
        _check_option("stages", stage, STAGES)
    _validate_type(n_jobs, "int-like", "n_jobs")
    _validate_flag(concatenate_runs, "concatenate_runs")
    _validate_flag(overwrite, "overwrite")
    _validate_flag(dry_run, "dry_run")
    parameters = dict(
        artifacts=list(check_artifacts(artifacts)),
        removal=removal,
        events=None if events is None else [events] if isinstance(events, str) else list(events),
        n_components=n_components,
        l_freq=l_freq,
        h_freq=h_freq,
        random_state=random_state,
        max_components=max_components,
        reject_by_annotation=reject_by_annotation,
        find_bad_channels=find_bad_channels,
        stability=stability,
    )
    _check_parameters(parameters)
    options = Options(parameters, tuple(one for one in STAGES if one in stages), overwrite)
    entities = dict(
        subject=_listed(subject), session=_listed(session), task=_listed(task), run=_listed(run)
    )
    recordings, out = _recordings(inputs, out, bids_root, datatype, entities)
    units = group(recordings, concatenate_runs)
    if dry_run:
        for unit in units:
            logger.info(f"{unit.name.label}: {planned(unit, out, options)}")
        return Study([], out)
    _spare_inputs(recordings, out)
    _prepare(out, bids_root)
    rows, waiting = [], []
    for unit in units:
        done = finished(unit, out, options)
        if done is None:
            waiting.append(unit)
        else:
            rows += done
    logger.info(f"{len(recordings)} recording(s), {len(rows)} of them already done.")
    try:
        rows += _work(waiting, out, options, n_jobs, dask, on_error)
    finally:
        files.discard_leftovers(out)  # of workers that were stopped
        page = write_summary(out, [*rows, *other_rows(out, recordings)])
    logger.info(f"{counted(rows)}. Summary: {page}")
    logger.info("To remove other components, edit *_components.tsv and run again.")
    return Study(sorted(rows, key=badness), out)


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise early for parameters with which every recording would fail."""
    _check_option("removal", parameters["removal"], REMOVALS)
    for name in parameters["events"] or []:
        _validate_type(name, str, "events", "a trial type or a list of trial types")
    ICA(parameters["n_components"])
    check_band(parameters["l_freq"], parameters["h_freq"])
    seed, most = parameters["random_state"], parameters["max_components"]
    _validate_type(seed, ("int-like", None), "random_state", "an int or None")
    if seed is not None:
        _validate_number(seed, "random_state", at_least=0)
    _validate_type(most, "int-like", "max_components")
    _validate_number(most, "max_components", at_least=1)
    for name in ("reject_by_annotation", "find_bad_channels", "stability"):
        _validate_flag(parameters[name], name)


def _listed(values: Filter) -> Sequence[str] | None:
    return [values] if isinstance(values, str) else values


def _recordings(
    inputs: Sequence[str | Path] | None,
    out: str | Path | None,
    bids_root: str | Path | None,
    datatype: str | None,
    entities: dict[str, Sequence[str] | None],
) -> tuple[list[Recording], Path]:
    """Return the recordings and the output folder."""
    if (inputs is None) == (bids_root is None):
        raise ValueError("Give either a list of files or bids_root, one of the two.")
    if bids_root is not None:
        if find_spec("mne_bids") is None:
            raise ImportError("BIDS studies need the package mne-bids; install mne-otica[bids].")
        recordings = find_bids(bids_root, datatype=datatype, **entities)
        out = Path(bids_root, "derivatives", "mne-otica") if out is None else Path(out)
    else:
        wanted = [name for name, values in entities.items() if values]
        if wanted:
            raise ValueError(f"{', '.join(wanted)} can be chosen in BIDS studies only.")
        if out is None:
            raise ValueError(
                "There is no output folder; pass out, on the command line --out FOLDER."
            )
        out = Path(out)
        known = {path: label for label, (path, _) in kept_rows(out.absolute()).items()}
        recordings = find_files(inputs, known)
    if not recordings:
        chosen = ", ".join(f"{name} {values}" for name, values in entities.items() if values)
        raise FileNotFoundError(
            f"No recordings were found{f' in {bids_root}' if bids_root else ''}"
            f"{f' for {chosen}' if chosen else ''}; check the folder and the choice."
        )
    return recordings, out.absolute()


def _spare_inputs(recordings: list[Recording], out: Path) -> None:
    """Raise if a result would overwrite a recording."""
    inputs = {recording.path for recording in recordings}
    for recording in recordings:
        if (path := out / recording.name.file("clean", "raw", ".fif")) in inputs:
            raise ValueError(f"{path} is an input and would be written to; choose another folder.")


def _prepare(out: Path, bids_root: str | Path | None) -> None:
    """Create the output folder, and raise early if it cannot be written to."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"The output folder {out} is a file; choose another.")
    path = out / "dataset_description.json"
    present = files.read_json(path)
    if path.exists() and "mne-otica" not in str(present.get("GeneratedBy")):
        raise ValueError(f"{out} holds another data set; choose another output folder.")
    with files.explained(out):
        out.mkdir(parents=True, exist_ok=True)
    files.discard_leftovers(out)
    description = present | {
        "Name": "EEG without artifacts, by mne-otica",
        "BIDSVersion": "1.10.0",
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "mne-otica", "Version": __version__}],
    }
    if bids_root is not None:
        link = Path(os.path.relpath(Path(bids_root).absolute(), out)).as_posix()
        description["DatasetLinks"] = {"raw": link}
    if description != present:
        with files.staged(out, out) as scratch:
            files.write_json(scratch / path.name, description)


def _work(
    units: list[Unit], out: Path, options: Options, n_jobs: int, dask: str | None, on_error: str
) -> list[Row]:
    done = []
    total = sum(len(unit.recordings) for unit in units)
    work = partial(process, out=out, options=options)
    for rows in run_units(units, work, n_jobs=n_jobs, dask=dask):
        for row in rows:
            done.append(row)
            told = f"{row['recording']}: {row['status']}, {row['message']}"
            logger.info(f"[{len(done)}/{total}] {told}")
        failed = [row for row in rows if row["status"] == "failed"]
        if failed and on_error == "abort":
            raise RuntimeError(f"{failed[0]['recording']} failed: {failed[0]['message']}")
    return done
