"""What the tests of the review share."""

import threading
from contextlib import contextmanager

from mne_otica.simulation import simulate_raw
from mne_otica.study.components_table import bad_components, read_table
from mne_otica.study.review_server import ReviewServer

N_COMPONENTS = 10


def simulated(seed, n_blinks=8, **options):
    """Return a short recording with its truth."""
    return simulate_raw(N_COMPONENTS, 30, 100.0, n_blinks=n_blinks, random_state=seed, **options)


def everything(folder):
    """Return all files but the locks, which are empty."""
    paths = (path for path in sorted(folder.rglob("*")) if path.parent.name != "locks")
    return {path: path.read_bytes() for path in paths if path.is_file()}


def written(out):
    """Return when each cleaned recording was written."""
    return {path.name: path.stat().st_mtime_ns for path in out.rglob("*_proc-clean*raw.fif")}


def anew(before, out):
    """Return the recordings that were cleaned since."""
    names = [name for name, when in written(out).items() if before[name] != when]
    return sorted(name.split("_proc")[0] for name in names)


def number(review, label):
    return [item.row["recording"] for item in review.items].index(label)


def table_of(out, label="one"):
    return out / f"{label}_proc-ica_components.tsv"


def decided(path, n_components=N_COMPONENTS):
    """Return status and reason of each component in a table."""
    rows = read_table(path, n_components)
    return {k: (row["status"], row["status_description"]) for k, row in rows.items()}


def split(out, label="one"):
    """Return the components that the table removes, and those that it keeps."""
    removed = bad_components(read_table(table_of(out, label), N_COMPONENTS))
    return removed, [k for k in range(N_COMPONENTS) if k not in removed]


def version(review, index):
    return review.recording(index)["version"]


def flip(review, label, component, status, note=None):
    index = number(review, label)
    return review.decide(index, component, version(review, index), status, note)


@contextmanager
def serving(review):
    """Serve a study in this process."""
    with ReviewServer(review) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
