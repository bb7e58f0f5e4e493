"""Print a BLAS kernel that this processor can run besides the one it runs by itself."""

from pathlib import Path

import numpy  # noqa: F401, loads its BLAS
from threadpoolctl import threadpool_info

# Newest first, with the flag of the processor that each needs.
KERNELS = {"SkylakeX": "avx512vl", "Haswell": "avx2", "Sandybridge": "avx", "Nehalem": "sse4_2"}

used = {one.get("architecture") for one in threadpool_info()}
cpuinfo = Path("/proc/cpuinfo")
flags = cpuinfo.read_text().split() if cpuinfo.exists() else []
# Cooperlake and later use the code of SkylakeX for double precision, Zen that of Haswell.
twins = {"Cooperlake": "SkylakeX", "SapphireRapids": "SkylakeX", "Zen": "Haswell"}
used |= {twins.get(name, name) for name in used}
print(
    next(name for name, flag in KERNELS.items() if name not in used and flag in [*flags, "sse4_2"])
)
