"""The command line as ``python -m mne_otica``."""

import sys

from mne_otica.cli import main

if __name__ == "__main__":
    sys.exit(main())
