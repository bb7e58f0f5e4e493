"""
.. _tut-judging:

30. Judging the cleaning: benefit and harm
==========================================

Removing a component removes blinks, and some brain activity with them. This tutorial measures both,
on a simulated recording for which the ideal result is known.
"""

# %%
# Benefit
# -------
# The benefit is the relative reduction of the root mean square (RMS) of the signal within 250 ms of
# each blink: 1 - RMS(after) / RMS(before).

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np

import mne_otica

sim = mne_otica.simulation.simulate_raw(32, duration=60, random_state=3)
result = mne_otica.clean_raw(sim.raw)
benefit = result.benefit
low, high = benefit.interval
print(f"All channels: {benefit.overall:.0%}, interval over blinks {low:.0%} to {high:.0%}")

# %%
# About 59 % over all channels: blinks are small at posterior channels, so little can be removed
# there. At the five channels where blinks are largest it is about 80 %.

worst = benefit.most_affected()
print(f"{', '.join(worst)}: {benefit.over(worst):.0%}")

mne_otica.viz.plot_reduction(result, show=False)
plt.show()

# %%
# Why not 100 %?
# --------------
# Because brain activity continues during a blink. The simulation provides the same recording
# without blinks, which is the best that any method could return. Its reduction is 58 %, and 79 %
# at the five channels. A larger reduction means that brain activity was removed.

band = result.settings["l_freq"], result.settings["h_freq"]
before = result.filtered()
perfect = sim.without_blinks.copy().filter(*band)
events = mne_otica.find_blink_events(sim.raw)
ceiling = mne_otica.rms_reduction(before, perfect, events)
print(f"Ideal result: {ceiling.overall:.0%}, at the five channels {ceiling.over(worst):.0%}")

# %%
# Harm
# ----
# The harm is the relative change of the RMS in windows without blinks, together with the change of
# the power of each frequency band and the correlation between the signals before and after.

harm = result.harm
print(f"RMS away from blinks: {harm.rms_change:+.1%}, correlation {harm.correlation:.3f}")

mne_otica.viz.plot_band_power(result, show=False)
plt.show()

# %%
# The RMS changed by less than 1 %, but delta power fell by 5 to 8 %: the blink component also
# contains slow frontal activity. Look at this figure if you study the delta band.

print(f"Delta power: {harm.band_power['delta']:+.1%}")

# %%
# Removing too much
# -----------------
# Removing more components always increases the benefit. Here, up to ten further components are
# removed.


def remove(n_more):
    """Return the recording without the blink component and ``n_more`` others."""
    ica = result.ica.copy()
    others = [k for k in range(ica.n_components_) if k not in result.ica.exclude]
    ica.exclude = result.ica.exclude + others[:n_more]
    return ica.apply(before.copy())


def distance(one):
    """Return the RMS difference from the ideal result, in µV."""
    return 1e6 * np.sqrt(np.mean((one.get_data() - perfect.get_data()) ** 2))


counts = np.arange(0, 11)
cleaned = [remove(n) for n in counts]
benefits = [mne_otica.rms_reduction(before, one, events) for one in cleaned]
harms = [mne_otica.preservation(before, one, events) for one in cleaned]
errors = [distance(one) for one in cleaned]

fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
axes[0].plot(counts, [100 * one.overall for one in benefits], "o-", label="benefit")
axes[0].plot(counts, [-100 * one.rms_change for one in harms], "s--", color="C3", label="harm")
axes[0].set(xlabel="Further components removed", ylabel="Reduction of the RMS (%)")
axes[0].legend(frameon=False)
axes[1].plot(counts, errors, "o-", color="k")
axes[1].set(xlabel="Further components removed", ylabel="Difference from the ideal (µV)", ylim=0)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The benefit increases to about 74 %, but so does the harm, to about 40 %. The difference from the
# ideal result is smallest, about 1.3 µV, when only the blink component is removed; before cleaning
# it was 8.7 µV.

print(f"Benefit {benefits[-1].overall:.0%}, change away from blinks {harms[-1].rms_change:+.0%}")
print(f"Difference from the ideal: {distance(before):.1f} µV before, {errors[0]:.1f} µV after")

# %%
# `mne_otica.verdict` summarises both in one line, with a note if the RMS away from blinks changed
# by more than 5 %.

print(mne_otica.verdict(benefits[0], harms[0]))
print(mne_otica.verdict(benefits[3], harms[3]))

# %%
# Where the blink times come from
# -------------------------------
# If blink times were taken from the component that is removed, the benefit would be biased upwards:
# the windows would be where that component is large. ``clean_raw`` therefore takes them from EOG or
# frontal channels if there are any.

blinks = mne_otica.locate_blinks(sim.raw)
print(f"Source of the blink times: {blinks.source}, {', '.join(blinks.channels)}")

# %%
# `mne_otica.rms_reduction` and `mne_otica.preservation` take a recording before, one after, and
# events, so they can be used with any method. :ref:`tut-comparing` compares four.
