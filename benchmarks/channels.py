"""What removing the blink component costs with few channels.

    python -m benchmarks.channels [--write]

With few channels the blink component holds brain activity, too. The table has the share of the
signal that is removed away from blinks in simulated recordings.
"""

import argparse
import warnings
from collections.abc import Iterator

import mne
import numpy as np

from benchmarks.results import PAGE, markdown, show
from mne_otica import clean_raw
from mne_otica.simulation import simulate_raw

CHANNELS = (4, 8, 19, 32)
DURATION, N_SEEDS = 60.0, 10


def lines() -> Iterator[str]:
    yield f"Recordings of {DURATION:g} s, seeds 0 to {N_SEEDS - 1}.\n"
    header = ["channels", "blinks removed in", "taken out away from blinks, median", "range"]
    rows = []
    for n_channels in CHANNELS:
        recordings = (simulate_raw(n_channels, DURATION, random_state=k) for k in range(N_SEEDS))
        results = [clean_raw(one.raw) for one in recordings]
        harms = [100 * one.harm.taken_out for one in results if one.status == "cleaned"]
        rows.append(
            [
                str(n_channels),
                f"{len(harms)} of {N_SEEDS}",
                f"{np.median(harms):.1f} %",
                f"{min(harms):.1f} to {max(harms):.1f} %",
            ]
        )
    yield markdown(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"keep the result in {PAGE.name}")
    args = parser.parse_args()
    mne.set_log_level("error")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that did not converge shows in the table
        show("Few channels: `python -m benchmarks.channels`", lines(), args.write)


if __name__ == "__main__":
    main()
