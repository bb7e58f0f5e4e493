"""Clean many recordings, resume interrupted runs, and summarise the study on one page."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import mne
from mne.utils import logger, verbose

from mne_otica import __version__
from mne_otica.cleaning.decide import DEFAULT, check_options
from mne_otica.ica import ICA
from mne_otica.signals.reading import check_band
from mne_otica.solver._linalg import one_blas_thread
from mne_otica.study import scratch_and_locks as files
from mne_otica.study import summary_table
from mne_otica.study.file_names import result_path
from mne_otica.study.inputs import Recording, Unit, find_bids, find_files, group
from mne_otica.study.results import Study, counted
from mne_otica.study.sidecars import PARAMETERS, STAGES, Options, UnitState, json_text, read_json
from mne_otica.study.stages import UnitStages
from mne_otica.study.summary_page import write_summary
from mne_otica.study.summary_table import Row, kept_rows, sentence_of
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
        The top folder of a BIDS study, in place of ``inputs``. The EEG folder of a subject is
        used, or the MEG folder if there is no EEG folder.
    subject, session, task, run : str | sequence of str | None
        The recordings of a BIDS study to clean; None means all.
    artifacts : str | sequence of str
        The kinds of artifacts to remove. This and the other parameters of the cleaning are those of
        :func:`mne_otica.clean_raw`.
    removal : "events" | "component"
        Whether to remove only the artifacts, or whole components. Components that a person
        marked as bad are removed entirely, unless an artifact is known to be in them.
    events : str | sequence of str | None
        The conditions: trial types of ``events.tsv`` in BIDS, or names of annotations. If passed,
        the ICA is fitted without the evoked responses, see :func:`mne_otica.clean_raw`.
    n_components, l_freq, h_freq, random_state, max_components : int | float | None
        Number of components, band and seed of the ICA, and maximum number of blink components.
    reject_by_annotation : bool
        Whether to leave out spans annotated as bad. In these spans only blinks are removed, or
        whole components with ``removal="component"``.
    find_bad_channels : bool
        Whether to leave out channels that look broken. If several recordings share an ICA, a
        channel that looks broken in one of them is left out of all.
    stability : bool
        Whether to measure how reproducible each component is, see
        :func:`mne_otica.stability`. The index becomes a column of ``components.tsv``; the summary
        has the lowest of the components removed.
    stages : sequence of str
        The stages to run, of ``"fit"``, ``"find"``, ``"apply"`` and ``"evaluate"``.
    concatenate_runs : bool
        Whether to fit one ICA on all recordings of a session (BIDS), or on all files whose
        names differ only in ``run-``. Each recording is still cleaned and evaluated by itself.
    n_jobs : int
        The number of recordings to clean in parallel, each in a process with one thread; -1 uses
        all processors. More than one needs joblib (``mne-otica[parallel]``).
    dask : str | None
        The address of the scheduler of a Dask cluster to run on, in place of ``n_jobs``.
    overwrite : bool
        Whether to run finished stages again. Tables that people edited are kept in any case.
    dry_run : bool
        Whether to only print what would be done.
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
    given = locals().copy()
    for stage in stages:
        _check_option("stages", stage, STAGES)
    for name in ("reject_by_annotation", "stability", "concatenate_runs", "overwrite", "dry_run"):
        _validate_flag(given[name], name)
    _validate_type(n_jobs, "int-like", "n_jobs")
    # Raise early for parameters with which every recording would fail.
    kinds = check_options(given)
    ICA(n_components)
    check_band(l_freq, h_freq)
    for name in _listed(events) or []:
        _validate_type(name, str, "events", "a trial type or a list of trial types")
    _validate_type(random_state, ("int-like", None), "random_state", "an int or None")
    _validate_number(random_state or 0, "random_state", at_least=0)
    parameters = {name: given[name] for names in PARAMETERS.values() for name in names}
    parameters |= {"artifacts": list(kinds), "events": _listed(events)}
    options = Options(parameters, tuple(one for one in STAGES if one in stages), overwrite)
    entities = {name: _listed(given[name]) for name in ("subject", "session", "task", "run")}
    recordings, out = _recordings(inputs, out, bids_root, entities)
    units = group(recordings, concatenate_runs)
    works = [UnitState(unit, out, options) for unit in units]
    todo = [_pending(work) for work in works]
    if dry_run:
        for unit, pending in zip(units, todo, strict=True):
            logger.info(f"{unit.name.label}: {pending or 'nothing'}")
        return Study([], out)
    for path in {out / result_path("apply", x.name, x.name) for x in recordings}:
        if path in {recording.path for recording in recordings}:
            raise ValueError(f"{path} is an input and would be written to; choose another folder.")
    _prepare(out, bids_root)
    rows = []
    for work, pending in zip(works, todo, strict=True):
        if not pending:
            work.notes.save()
            rows += _process(work.unit, out, options)
    logger.info(f"{len(recordings)} recording(s), {len(rows)} of them already done.")
    try:
        waiting = [unit for unit, pending in zip(units, todo, strict=True) if pending]
        total = sum(len(unit.recordings) for unit in waiting)
        done = chain.from_iterable(_run_units(waiting, out, options, n_jobs, dask))
        for number, row in enumerate(done, 1):
            told = f"{row['recording']}: {row['status']}, {row['message']}"
            logger.info(f"[{number}/{total}] {told}")
            rows.append(row)
    finally:
        files.discard_leftovers(out)  # of workers that were stopped
        own, kept = {x.name.label for x in recordings}, kept_rows(out)
        others = [x.row for k, x in kept.items() if k not in own and x.recording.path.exists()]
        page = write_summary(out, [*rows, *others])
    logger.info(f"{counted(rows)}. Summary: {page}")
    logger.info("To remove other components, edit *_components.tsv and run again.")
    return Study(sorted(rows, key=summary_table.badness), out)


def _listed(values: Filter) -> list[str] | None:
    return [values] if isinstance(values, str) else values and list(values)


def _pending(work: UnitState) -> str:
    """Return the pending stages of a unit, or why it will fail."""
    try:
        return ", ".join(work.pending())
    except Exception as error:  # which is raised again, and reported, when the unit is processed
        return f"will fail: {sentence_of(error)}"


def _recordings(
    inputs: Sequence[str | Path] | None,
    out: str | Path | None,
    bids_root: str | Path | None,
    entities: dict[str, list[str] | None],
) -> tuple[list[Recording], Path]:
    if (inputs is None) == (bids_root is None):
        raise ValueError("Pass either a list of files or bids_root, not both.")
    wanted = {name: values for name, values in entities.items() if values}
    if bids_root is not None:
        if find_spec("mne_bids") is None:
            raise ImportError("BIDS studies need the package mne-bids; install mne-otica[bids].")
        recordings = find_bids(bids_root, **entities)
        out = Path(bids_root, "derivatives", "mne-otica") if out is None else out
    elif wanted:
        raise ValueError(f"{', '.join(wanted)} can be chosen in BIDS studies only.")
    elif out is None:
        raise ValueError("There is no output folder; pass out, on the command line --out FOLDER.")
    else:
        known = kept_rows(Path(out).absolute())
        recordings = find_files(inputs, {one.recording.path: name for name, one in known.items()})
    if not recordings:
        told = f" in {bids_root}" if bids_root else ""
        if wanted:
            told += " for " + ", ".join(f"{name} {values}" for name, values in wanted.items())
        raise FileNotFoundError(f"No recordings were found{told}; check the folder and the choice.")
    return recordings, Path(out).absolute()


def _prepare(out: Path, bids_root: str | Path | None) -> None:
    """Create the output folder, and raise early if it cannot be written to."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"The output folder {out} is a file; choose another.")
    path = out / "dataset_description.json"
    present = read_json(path)
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
        link = Path(os.path.relpath(bids_root, out)).as_posix()
        description["DatasetLinks"] = {"raw": link}
    if description != present:
        files.write_text(out, path, json_text(description))


def _process(unit: Unit, out: Path, options: Options) -> list[Row]:
    """Run all pending stages of a unit; raise only if its folder cannot be written to."""
    # With one thread of BLAS, the last digits do not depend on the number of workers.
    with files.explained(out), files.locked(out, unit.name.label), one_blas_thread():
        work, failed, rows = UnitStages(unit, out, options), None, []
        shared = [stage for stage in options.stages if stage in STAGES[:2]]
        try:
            for stage in shared:
                work.do(stage)
        except files.OutputError:
            raise
        except Exception as error:
            failed = error
        for recording in unit.recordings:
            try:
                if failed is not None:
                    raise failed
                for stage in options.stages[len(shared) :]:
                    work.do(stage, recording)
                row = summary_table.row_of(work, recording)
            except files.OutputError:
                raise
            except Exception as error:
                logger.debug("", exc_info=error)
                told = {"status": "failed", "message": sentence_of(error)}
                row = summary_table.empty_row(recording) | told
            summary_table.keep_row(out, recording, unit, row)
            rows.append(row)
        work.notes.save()
        return rows


def _run_units(
    units: Sequence[Unit], out: Path, options: Options, n_jobs: int, dask: str | None
) -> Iterator[list[Row]]:
    if dask is None and (n_jobs == 1 or len(units) < 2):
        yield from (_process(unit, out, options) for unit in units)
        return
    if find_spec("joblib") is None:
        told = "needs the package joblib; install mne-otica[parallel], or use 1."
        raise ImportError(f"n_jobs={n_jobs} {told}")
    if dask is not None and find_spec("distributed") is None:
        raise ImportError("A Dask cluster needs the package distributed; install mne-otica[dask].")
    from joblib import Parallel, delayed, effective_n_jobs, parallel_config

    tasks = [delayed(_in_worker)(unit, out, options, logger.level) for unit in units]
    with ExitStack() as stack:
        if dask is None:  # one thread each, as more would compete for the cores
            n_jobs = min(effective_n_jobs(n_jobs), len(units))
            stack.enter_context(parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1))
        else:
            from distributed import Client

            stack.enter_context(Client(dask))
            stack.enter_context(parallel_config("dask"))
        try:
            yield from Parallel(return_as="generator_unordered")(tasks)
        except BrokenExecutor as error:
            told = "Run again with fewer jobs; finished stages are not repeated."
            why = "A worker was killed, perhaps because memory ran out."
            raise RuntimeError(f"{why} {told}") from error


def _in_worker(unit: Unit, out: Path, options: Options, level: int) -> list[Row]:
    import matplotlib

    matplotlib.use("agg")
    with mne.use_log_level(level):
        return _process(unit, out, options)
