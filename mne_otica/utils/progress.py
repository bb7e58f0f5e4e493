"""One progress bar of MNE for all stages of a call."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from logging import LogRecord

from mne.utils import ProgressBar, logger

_TOTAL = 1000
_current: ContextVar["_Stages | None"] = ContextVar("current", default=None)


class _Stages:
    """A bar, and what is left of the current stage."""

    def __init__(self, shares: Mapping[str, float]) -> None:
        self.shares, self.done, self.left = dict(shares), 0.0, 0.0
        # Shares are those of the time, so that the mean rate tells the time that is left.
        text = "{percentage:3.0f}%|{bar}| {desc} [{elapsed}<{remaining}]"
        self.bar = ProgressBar(_TOTAL, mesg="Clean", smoothing=0, bar_format=text)

    def go(self, share: float) -> None:
        self.done += share
        self.bar.update(round(_TOTAL * self.done))

    def make_room(self, _: LogRecord) -> bool:
        """Clear the line of the bar for a message; the bar is drawn again below it."""
        self.bar._tqdm.clear()
        return True


@contextmanager
def stages(shares: Mapping[str, float]) -> Iterator[None]:
    """Show one bar for stages that take about these shares of the time."""
    one = _Stages(shares)
    token = _current.set(one)
    handlers = list(logger.handlers)
    for handler in handlers:
        handler.addFilter(one.make_room)
    try:
        yield
        one.go(1 - one.done)
    finally:
        for handler in handlers:
            handler.removeFilter(one.make_room)
        _current.reset(token)
        one.bar._tqdm.close()


def stage(name: str) -> None:
    """Begin a stage of the bar that is shown, if there is one."""
    one = _current.get()
    if one is not None:
        one.bar._tqdm.set_description_str(f"Clean: {name}")
        one.go(one.left)
        one.left = one.shares[name]


def step(share: float = 1 / 30) -> bool:
    """Go on by a share of what is left of the stage; return whether a bar is shown for it."""
    one = _current.get()
    if one is not None:
        one.left -= (gone := share * one.left)
        one.go(gone)
    return one is not None
