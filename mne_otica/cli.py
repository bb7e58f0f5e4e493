"""The command line ``mne_otica``, also as ``python -m mne_otica``."""

import argparse
import getpass
import sys
import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import mne

import mne_otica

_STUDY = {
    "run": "Clean a study: fit, find, apply and evaluate, each only if needed.",
    "fit": "Fit the ICAs of a study.",
    "find": "Find the components that hold artifacts in the fitted ICAs.",
    "apply": "Remove the components with the status bad in the tables.",
    "evaluate": "Measure benefit and harm, and write the reports.",
}


def _demo(arguments: argparse.Namespace) -> None:
    """Clean the shipped recording and print benefit and harm."""
    raw, started = mne_otica.datasets.sample(), time.perf_counter()
    result = mne_otica.clean_raw(raw)
    seconds = time.perf_counter() - started
    print(f"Cleaned {raw.times[-1]:.0f} s of EEG in {seconds:.1f} s: {result.verdict}.\n")
    for name, value in result.summary():
        print(f"{name}: {value}")


def _sys_info(arguments: argparse.Namespace) -> None:
    """Print the versions of this package and its dependencies."""
    print(f"mne-otica {mne_otica.__version__}")
    mne.sys_info(check_version=False)


def _study(arguments: argparse.Namespace) -> int:
    """Clean a study, or run one stage of it; the status is 1 if any recording failed."""
    import matplotlib

    from mne_otica.study.sidecars import STAGES
    from mne_otica.study.study import clean_study

    matplotlib.use("agg")
    options = vars(arguments).copy()
    command, verbose = options.pop("command"), options.pop("verbose")
    options["inputs"] = options["inputs"] or None
    if options.get("artifacts") is not None:
        options["artifacts"] = [kind.replace("-", " ") for kind in options["artifacts"]]
    stages = STAGES if command == "run" else (command,)
    study = clean_study(stages=stages, verbose="debug" if verbose else "info", **options)
    return 1 if study.failed else 0


def _review(arguments: argparse.Namespace) -> None:
    """Review a study in the browser, and decide what to remove."""
    from mne_otica.study.review import Review
    from mne_otica.study.review_server import ReviewServer

    review = Review(arguments.out, arguments.name or _user())
    with ReviewServer(review, arguments.port) as server:
        print(f"{server.address}\nPress Ctrl-C to stop; decisions are saved.", flush=True)
        if not arguments.no_browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("Stopped. To apply the decisions, run the study again with the same options.")


def _methods(arguments: argparse.Namespace) -> None:
    """Write the paragraph on a study for the methods section, and a .bib file of its references."""
    study = mne_otica.read_study(arguments.out)
    text, references = study.methods()
    path = study.out / "methods.bib"
    path.write_text(references, encoding="utf-8", newline="\n")
    print(f"{text}\n\nReferences: {path}")


def _audit(arguments: argparse.Namespace) -> None:
    """Compare artifacts, and an effect, between the conditions of a cleaned study."""
    study, window = mne_otica.read_study(arguments.out), arguments.window
    found = mne_otica.audit(study, arguments.events, picks=arguments.picks, window=window)
    for table in ("artifacts", "differences", "amplitudes", "effects"):
        path = study.out / f"audit_{table}.tsv"
        found.to_data_frame(table).to_csv(path, sep="\t", index=False, na_rep="n/a")
    print("\n".join([*found.sentences, f"Tables: {study.out / 'audit_*.tsv'}"]))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have users without a name
        return "unknown"


def _add_options(parser: argparse.ArgumentParser, command: str) -> None:
    add = parser.add_argument
    add("out", type=Path, metavar="OUT", help="the output folder of the study")
    if command == "review":
        add("--port", type=int, default=0, metavar="N", help="the port (default: any that is free)")
        add("--no-browser", action="store_true", help="only print the address")
        add("--name", metavar="WHO", help="the name for your decisions (default: your user name)")
    if command == "audit":
        text = "the conditions: trial types or annotations"
        add("--events", nargs="+", required=True, metavar="CONDITION", help=text)
        add("--picks", nargs="+", metavar="CHANNEL", help="the channels of an effect")
        text = "the window of an effect, in seconds after the stimulus"
        add("--window", nargs=2, type=float, metavar=("START", "END"), help=text)


def _add_study_options(parser: argparse.ArgumentParser, command: str) -> None:
    add = parser.add_argument
    default = "(default: %(default)s)"
    add("inputs", nargs="*", type=Path, metavar="FILE", help="recordings in any format MNE reads")
    add("--bids-root", type=Path, metavar="FOLDER", help="a BIDS study, in place of files")
    for name in ("subject", "session", "task", "run"):
        add(f"--{name}", nargs="+", metavar=name.upper(), help=f"only this {name} (BIDS)")
    text = "the output folder (default for BIDS: derivatives/mne-otica)"
    add("-o", "--out", type=Path, metavar="FOLDER", help=text)
    if command in ("run", "fit"):
        text = "as in mne.preprocessing.ICA (default: the rank, or fewer if data are short)"
        add("--n-components", type=_number, metavar="N", help=text)
        for option, limit, value in (("--l-freq", "lower", 1.0), ("--h-freq", "upper", 40.0)):
            text = f"{limit} limit of the band to fit on, or none {default}"
            add(option, type=_frequency, default=value, metavar="HZ", help=text)
        text = "trial types or annotations; the ICA is fitted without the responses to them"
        add("--events", nargs="+", metavar="CONDITION", help=text)
        add("--random-state", type=int, default=0, metavar="SEED", help=f"the seed {default}")
        text = "do not look for bad channels that are not marked"
        add("--no-find-bad-channels", dest="find_bad_channels", action="store_false", help=text)
    if command in ("run", "find"):
        text = (
            "kinds of artifacts to remove: blink, eye-movement, heartbeat, muscle, electrode, or "
            "all (default: blink)"
        )
        add("--artifacts", nargs="+", default=["blink"], metavar="KIND", help=text)
        text = f"maximum number of blink components {default}"
        add("--max-components", type=int, default=2, metavar="N", help=text)
        text = f"remove only the artifacts, or whole components {default}"
        add("--removal", choices=("events", "component"), default="events", help=text)
        add("--stability", action="store_true", help="refit to see which components are stable")
    add("--concatenate-runs", action="store_true", help="one ICA for the runs of a session")
    text = f"recordings to clean in parallel, -1 for all cores {default}"
    add("--n-jobs", type=int, default=1, metavar="N", help=text)
    add("--dask", metavar="ADDRESS", help="run on a Dask cluster, for instance tcp://host:8786")
    add("--overwrite", action="store_true", help="run finished stages again")
    add("--dry-run", action="store_true", help="only print what would be done")


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _frequency(text: str) -> float | None:
    return None if text.lower() == "none" else float(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mne_otica", description=mne_otica.__doc__)
    parser.add_argument("--version", action="version", version=mne_otica.__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    others = {"review": _review, "methods": _methods, "audit": _audit}
    functions = {"demo": _demo, **dict.fromkeys(_STUDY, _study), **others, "sys_info": _sys_info}
    for name, run in functions.items():
        text = _STUDY.get(name, run.__doc__)
        command = commands.add_parser(name, help=text, description=text)
        if run is _study:
            _add_study_options(command, name)
        elif name in others:
            _add_options(command, name)
        command.add_argument("--verbose", action="store_true", help="show MNE's messages")
        command.set_defaults(function=run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str | None
        The arguments; None takes those of the process.

    Returns
    -------
    status : int
        0, or 1 if anything failed.
    """
    arguments = _parser().parse_args(argv)
    function, command = vars(arguments).pop("function"), arguments.command
    with mne.use_log_level("info" if arguments.verbose else "warning"):
        try:
            return function(arguments) or 0
        except (OSError, ValueError, ImportError, RuntimeError, OverflowError) as error:
            print(f"mne_otica {command}: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print(f"mne_otica {command}: stopped; run it again to continue.", file=sys.stderr)
            return 130
