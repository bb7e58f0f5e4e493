"""Print the path of the newest Python on this machine that is newer than the one that runs this."""

import os
import re
import subprocess
import sys
from pathlib import Path

# A shim of pyenv may lead nowhere, a Python of Debian may lack ensurepip, and not everything that
# is needed can be installed with one that is not released yet.
CHECK = "import sys, venv, ensurepip; sys.exit(sys.version_info.releaselevel != 'final')"


def works(path: Path) -> bool:
    """Tell whether an environment can be made of a Python."""
    try:
        return subprocess.run([path, "-c", CHECK], capture_output=True).returncode == 0
    except OSError:
        return False


folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
folders += Path.home().glob(".pyenv/versions/*/bin")
found = {}
for folder in folders:
    for path in folder.glob("python3.*"):
        name = re.fullmatch(r"python3\.(\d+)", path.name)
        if name and int(name[1]) > sys.version_info.minor and works(path):
            found.setdefault(int(name[1]), path)
print(found[max(found)] if found else "")
