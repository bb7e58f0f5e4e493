"""The styles of all figures: change them here. They are readable without colour, too."""

BEFORE = dict(color="0.45", linestyle="--", linewidth=1.5)
AFTER = dict(color="C0", linestyle="-", linewidth=1.5)
EVENT = dict(color="C3", marker="|", linestyle="none", markersize=9)
PARTS = {  # of a component
    "component": dict(color="0.3", linestyle="-", linewidth=0.8),
    "removed": dict(color="C3", linestyle="--", linewidth=1.8),
    "kept": dict(color="C0", linestyle="-", linewidth=1.5),
}
STABLE = dict(color="C0", edgecolor="k", linewidth=0.5)
UNSTABLE = dict(color="w", edgecolor="0.4", linewidth=0.5, hatch="///")
CURVE = dict(color="0.75", linewidth=0.8, zorder=0)  # one of many
THRESHOLD = dict(color="k", linestyle=":", linewidth=1)
GUIDE = dict(color="0.85", linewidth=0.8, zorder=0)
WINDOW = dict(color="0.93", zorder=0)  # in which the benefit is measured
OUTLINE = dict(color="k", linewidth=0.8)  # of a head, or a time course
BARS = dict(color="0.6", edgecolor="k")
SMALL = dict(fontsize="small", color="0.4")
# Maps of colours: signed values, benefit and spread, harm.
SIGNED, SHARE, HARM = "RdBu_r", "Reds", "Purples"
