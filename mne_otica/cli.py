"""The command line: ``mne_otica demo | sys_info``."""

import argparse
import sys
import time
from collections.abc import Sequence

import mne
import numpy as np
from scipy.stats import kurtosis

import mne_otica
from mne_otica import datasets, otica


def _demo(arguments: argparse.Namespace) -> None:
    """Separate the shipped recording and show which component holds the blinks."""
    raw = datasets.sample().filter(1.0, 40.0, picks=["eeg", "eog"])
    eeg = raw.copy().pick("eeg", exclude="bads").get_data()
    eog = raw.get_data("eog")[0]
    started = time.perf_counter()
    _, _, components = otica(eeg)
    seconds = time.perf_counter() - started
    print(f"Separated {len(eeg)} EEG channels of {raw.times[-1]:.0f} s in {seconds:.1f} s.\n")
    print("component   excess kurtosis   |correlation with EOG|")
    with_eog = np.abs([np.corrcoef(component, eog)[0, 1] for component in components])
    excess = kurtosis(components, axis=1)
    for index in np.argsort(with_eog)[::-1][:5]:
        print(f"{index:9d}   {excess[index]:15.1f}   {with_eog[index]:22.2f}")
    blink = np.argmax(with_eog)
    peak = raw.times[np.argmax(np.abs(components[blink]))]
    print(f"\nComponent {blink} holds the blinks, the largest at {peak:.1f} s.")


def _sys_info(arguments: argparse.Namespace) -> None:
    """Show the versions of this package and of what it uses."""
    print(f"mne-otica {mne_otica.__version__}")
    mne.sys_info(check_version=False)


COMMANDS = {"demo": _demo, "sys_info": _sys_info}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mne_otica", description=mne_otica.__doc__)
    parser.add_argument("--version", action="version", version=mne_otica.__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, run in COMMANDS.items():
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        command.add_argument("--verbose", action="store_true", help="show MNE's messages")
        command.set_defaults(run=run)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str | None
        The arguments; None takes those of the process.
    """
    arguments = _parser().parse_args(argv)
    with mne.use_log_level("info" if arguments.verbose else "warning"):
        arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
