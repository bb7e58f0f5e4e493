"""The command line: ``mne_otica demo | sys_info``."""

import argparse
import sys
import time
from collections.abc import Sequence

import mne

import mne_otica
from mne_otica import clean_raw, datasets


def _demo(arguments: argparse.Namespace) -> None:
    """Remove the blinks from the shipped recording and show what that did."""
    raw = datasets.sample()
    started = time.perf_counter()
    result = clean_raw(raw)
    seconds = time.perf_counter() - started
    print(f"Cleaned {raw.times[-1]:.0f} s of EEG in {seconds:.1f} s: {result.verdict}.\n")
    for name, value in result.summary():
        print(f"{name}: {value}")


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
