"""
.. _tut-judging:

30. Judging the cleaning: benefit and harm
==========================================

Cleaning removes blinks, and some brain activity with them. This tutorial measures both, on a
simulated recording for which the ideal result is known, and compares two ways of removal: only the
blinks, or the whole component that holds them.
"""

# %%
# Two ways to clean
# -----------------
# By default, only the blinks are removed from the blink component. With ``removal="component"`` the
# whole component is removed, as `mne.preprocessing.ICA.apply` does.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

import mne_otica

sim = mne_otica.simulation.simulate_raw(32, duration=60, random_state=3)
result = mne_otica.clean_raw(sim.raw)
whole = mne_otica.clean_raw(sim.raw, removal="component")
print(f"Only the blinks: {result.verdict}")
print(f"Whole component: {whole.verdict}")

# %%
# Both remove 94 % of the average blink. Away from blinks, the first changes nothing; the second
# removes about 11 % of the signal: between the blinks, the component contains brain activity. The
# figure shows one blink of the component, and the average of all: what was removed and what was
# kept.

mne_otica.viz.plot_removal(result, show=False)
plt.show()

# %%
# Benefit
# -------
# There are two measures of the benefit. The first is the reduction of the *average blink*: the
# windows of 250 ms before to 250 ms after each blink are averaged, and the root mean square (RMS)
# of this average, relative to its mean, is compared before and after, 1 - RMS(after) /
# RMS(before), at the five channels where blinks are largest. The interval shows how much it
# depends on single blinks.

benefit = result.kinds["blink"].benefit
low, high = benefit.average_interval
print(f"Average blink at {', '.join(benefit.most_affected())}:")
print(f"{benefit.average:.0%} removed, 95 % interval {low:.0%} to {high:.0%}")

# %%
# The second is the reduction of the RMS in the same windows without averaging. It is lower: brain
# activity continues during a blink, and it should not be removed. The simulation provides the same
# recording without blinks, which is the best that any method could return. Even its reduction is
# only 81 % at these channels and 58 % over all channels, so a larger value means that brain
# activity was removed. In the average over blinks, brain activity mostly cancels, and the value is
# 94 %.

before = sim.raw.copy().filter(1, 40)
perfect = sim.without_blinks.copy().filter(1, 40)
ceiling = mne_otica.rms_reduction(before, perfect, result.events)
worst = benefit.most_affected()
print(f"Result: average blink {benefit.average:.0%}, RMS {benefit.over(worst):.0%},", end=" ")
print(f"over all channels {benefit.overall:.0%}")
print(f"Ideal result: average blink {ceiling.average:.0%}, RMS {ceiling.over(worst):.0%},", end=" ")
print(f"over all channels {ceiling.overall:.0%}")

# %%
# Harm
# ----
# The harm is what was removed away from blinks: RMS(before - after) / RMS(before), in all samples
# that are at least a second away from the window of any blink.

harm = whole.kinds["blink"].harm
print(f"Only the blinks: {result.kinds['blink'].harm.taken_out:.1%} removed away from blinks")
print(f"Whole component: {harm.taken_out:.1%}")

mne_otica.viz.plot_benefit_and_harm(whole, show=False)
plt.show()

# %%
# On the right is the harm of removing the whole component. It is largest at the frontal channels,
# about a third of the signal at Fp1.
#
# The change of the RMS is *not* a measure of the harm: removing a component lowers the amplitude of
# some channels and raises that of others, and the two cancel.

print(f"Whole component, change of the RMS: {harm.rms_change:+.1%}")

# %%
# If only the blinks are removed, one question remains: how much brain activity is removed
# during blinks? It cannot be measured. *Sham events* answer a similar question: what would the
# same procedure remove at times without a blink?

print(f"Removed for sham events: {result.kinds['blink'].harm.sham:.1%}")

# %%
# The truth
# ---------
# In a simulation, the difference from the ideal result is known: 8.7 µV before cleaning, 1.3 µV
# without the whole component, and half of that without the blinks only.

cleaned = {"before": sim.raw, "whole component": whole.raw, "only the blinks": result.raw}
errors = {}
for name, raw in cleaned.items():
    difference = raw.copy().filter(1, 40).get_data() - perfect.get_data()
    errors[name] = 1e6 * np.sqrt(np.mean(difference**2))
    print(f"{name}: {errors[name]:.1f} µV from the ideal result")

# %%
# Removing ten more components reduces the RMS at blinks by about three quarters instead of 59 %. It
# looks better, but about four fifths of the signal away from blinks are removed: the RMS at blinks
# must never be looked at alone.

others = [k for k in range(whole.ica.n_components_) if k not in whole.ica.exclude]
too_much = whole.ica.apply(before.copy(), exclude=whole.ica.exclude + others[:10])
more_benefit = mne_otica.rms_reduction(before, too_much, result.events)
more_harm = mne_otica.preservation(before, too_much, result.events)
print(f"RMS at blinks {more_benefit.overall:.0%}, removed elsewhere {more_harm.taken_out:.0%}")

# %%
# `mne_otica.rms_reduction` and `mne_otica.preservation` take a recording before, one after, and
# events, so they can be used with any method. :ref:`tut-comparing` compares five.
