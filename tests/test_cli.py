import re

import pytest

import mne_otica
from mne_otica.cli import main


def test_demo_finds_the_blink_component(capsys):
    main(["demo"])
    printed = capsys.readouterr().out
    index = re.search(r"Component (\d+) holds the blinks", printed).group(1)
    row = re.search(rf"^ +{index} +([\d.]+) +([\d.]+)$", printed, flags=re.MULTILINE)
    kurtosis, correlation = map(float, row.groups())
    assert kurtosis > 5
    assert correlation > 0.8


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
