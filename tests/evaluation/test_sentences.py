"""One sentence a kind: what it says follows from the figures."""

from types import SimpleNamespace

import numpy as np
import pytest

from mne_otica.evaluation.measures import KindResult
from mne_otica.evaluation.sentences import LONGEST, hand_line, kind_line, none_line, verdict_of


def result(gone=0.93, cost=0.0, *, kind="blink", how="events", components=(0,), sham=None, **more):
    margin = None if kind in ("muscle", "heartbeat") else 1.0
    harm = SimpleNamespace(taken_out=cost, rank_before=16, rank_after=16, margin=margin, sham=sham)
    events = np.zeros((4, 3), int)
    return KindResult(kind, "yes", list(components), events, how, "", gone, None, harm, **more)


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (result(), "blinks: 93 % removed (4 events, ICA000); 0.0 % elsewhere"),
        (
            result(0.12, 0.05, kind="muscle", how="band", components=(8, 10), l_freq=15.0),
            "muscle: RMS above 15 Hz reduced by 12 % (ICA008, ICA010); 5.0 % of the whole signal "
            "removed",
        ),
        (
            result(
                None, kind="heartbeat", how="nothing", components=(), not_removed=[17], why="x y"
            ),
            "heartbeats: found in ICA017, not removed: x y",
        ),
    ],
)
def test_sentences(one, line):
    assert kind_line(one) == line
    assert not one.poor


@pytest.mark.parametrize(("gone", "cost"), [(0.49, 0.0), (0.9, 0.31)])
def test_poor_results_say_which_limit_they_fail(gone, cost):
    one = result(gone, cost)
    assert one.poor
    which = "less than 50 % removed, try" if gone < 0.5 else "more than 30 %, try"
    remedy = 'removal="component"' if gone < 0.5 else "more channels"
    assert kind_line(one).endswith(f"; poor: {which} {remedy}")


def test_the_harm_of_a_heart_is_what_goes_at_sham_beats():
    """Its waves are everywhere, so that what goes in total is mostly the heart."""
    assert not result(0.9, 0.41, kind="heartbeat", sham=0.11).poor
    one = result(0.9, 0.41, kind="heartbeat", sham=0.31)
    assert one.poor
    assert "more than 30 % at sham beats, try" in kind_line(one)


def test_lost_rank_is_said():
    one = result(how="component")
    one.harm.rank_after = 15
    assert "(4 events, all of ICA000, rank lower by 1)" in kind_line(one)


def test_sentences_are_short():
    unsure = KindResult("blink", "unsure", [], np.zeros((0, 3), int), "nothing", "long " * 100)
    many = result(components=range(40))
    assert all(len(kind_line(one)) <= LONGEST for one in (unsure, many))
    assert len(repr({"blink": many})) < 400


@pytest.mark.parametrize("kind", ["electrode", "muscle", "eye movement", "heartbeat"])
@pytest.mark.parametrize("how", ["component", "events"])
def test_poor_results_of_many_components_say_what_to_try(kind, how):
    own = [f"EEG {k:03d}" for k in range(64)] if kind == "electrode" else []
    band = dict(l_freq=15.0) if kind == "muscle" else {}
    many = result(0.3, 0.4, kind=kind, how=how, components=range(64), own_channels=own, **band)
    line = verdict_of({kind: many}, None, False, None, [], {})
    assert line == kind_line(many)
    assert "; poor: " in line
    assert len(line) <= LONGEST


def test_sentences_do_not_contradict_each_other():
    """A component that one kind was removed from is not said to be left as it is by another."""
    unsure = KindResult(
        "eye movement", "unsure", [], np.zeros((0, 3), int), "nothing", "ICA000, slow"
    )
    line = "eye movements: unsure, only blinks removed: ICA000, slow; inspect it"
    assert kind_line(unsure, {0: "blink"}) == line
    assert "unsure, not removed: ICA000" in kind_line(unsure, {1: "blink"})
    found = result(None, kind="heartbeat", how="nothing", components=(), not_removed=[0], why="x")
    assert kind_line(found, {0: "blink"}).endswith("found in ICA000, only blinks removed: x")


def test_figures_are_shares():
    many = result(0.3, 4.14, kind="muscle", how="band", l_freq=15.0)
    end = 'poor: more than 30 %, try artifacts without "muscle"'
    assert kind_line(many).endswith(f"over 100 % of the whole signal removed; {end}")


def test_other_sentences():
    assert hand_line([3], 0.125) == "chosen by hand: ICA003; 12.5 % of the whole signal removed"
    assert none_line(["blink", "muscle"]) == "no blinks or muscle found, nothing removed"
