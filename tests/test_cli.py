import re

import pytest

import mne_otica
from mne_otica.cli import main


def test_demo_removes_the_blinks(capsys):
    main(["demo"])
    printed = capsys.readouterr().out
    removed, taken = re.search(
        r"blinks: (\d+) % removed .*; ([\d.]+) % elsewhere", printed
    ).groups()
    assert int(removed) > 80
    assert float(taken) < 3
    assert "Blinks: 4 from EOG 061" in printed


def test_sys_info_names_the_versions(capsys):
    main(["sys_info"])
    printed = capsys.readouterr().out
    assert f"mne-otica {mne_otica.__version__}" in printed
    assert "numpy" in printed


@pytest.mark.parametrize(
    ("argv", "status", "message"),
    [([], 2, "COMMAND"), (["dance"], 2, "invalid choice"), (["--version"], 0, "0.")],
)
def test_usage(argv, status, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == status
    captured = capsys.readouterr()
    assert message in captured.out + captured.err
