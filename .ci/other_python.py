"""Print the path of the newest Python on this machine that is newer than the one that runs this."""

import os
import re
import subprocess
import sys
from pathlib import Path

folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
folders += Path.home().glob(".pyenv/versions/*/bin")
found = {}
for folder in folders:
    for path in folder.glob("python3.*"):
        name = re.fullmatch(r"python3\.(\d+)", path.name)
        if name and int(name[1]) > sys.version_info.minor:
            works = subprocess.run([path, "-c", "import venv"], capture_output=True)
            if works.returncode == 0:
                found.setdefault(int(name[1]), path)
print(found[max(found)] if found else "")
