"""
.. _tut-judging:

30. Judging the cleaning: benefit and harm
==========================================

Cleaning takes out blinks, and some brain activity with them. This tutorial measures both, on a
simulated recording for which the ideal result is known, and compares two ways of removal: only the
blinks, or the whole component that holds them.
"""

# %%
# Two ways to clean
# -----------------
# By default, only the blinks are taken out of the blink component. With ``removal="component"`` the
# whole component is removed, as `mne.preprocessing.ICA.apply` does.

# sphinx_gallery_thumbnail_number = 4
import matplotlib.pyplot as plt
import numpy as np

import mne_otica

sim = mne_otica.simulation.simulate_raw(32, duration=60, random_state=3)
result = mne_otica.clean_raw(sim.raw)
whole = mne_otica.clean_raw(sim.raw, removal="component")
print(f"Only the blinks: {result.verdict}")
print(f"Whole component: {whole.verdict}")

# %%
# The first removes 95 % of the average blink, the second 94 %. Away from blinks, the first takes
# out about 1 % of the signal, the second about 11 %: between the blinks, the component contains
# brain activity. The figure shows one blink of the component, and the average of all: what was
# taken out and what stayed.

mne_otica.viz.plot_removal(result, show=False)
plt.show()

# %%
# Benefit
# -------
# There are two measures of the benefit. The first is the reduction of the *average blink*: the
# windows of 250 ms before to 250 ms after each blink are averaged, and the root mean square (RMS)
# of this average is compared before and after, 1 - RMS(after) / RMS(before), at the five channels
# where blinks are largest. The interval tells how much it depends on single blinks.

benefit = result.benefit
low, high = benefit.average_interval
print(f"Average blink at {', '.join(benefit.most_affected())}:")
print(f"{benefit.average:.0%} removed, 95 % interval {low:.0%} to {high:.0%}")

# %%
# The second is the reduction of the RMS in the same windows without averaging. It is lower: brain
# activity continues during a blink, and it should not be removed. The simulation provides the same
# recording without blinks, which is the best that any method could return. Even its reduction is
# only 79 % at these channels and 58 % over all channels, so a larger value means that brain
# activity was removed. In the average over blinks, brain activity mostly cancels, and the value is
# 94 %.

band = result.settings["l_freq"], result.settings["h_freq"]
before = result.filtered()
perfect = sim.without_blinks.copy().filter(*band)
ceiling = mne_otica.rms_reduction(before, perfect, result.events)
worst = benefit.most_affected()
for name, one in {"result": benefit, "ideal result": ceiling}.items():
    print(f"{name}: average blink {one.average:.0%}, RMS {one.over(worst):.0%}, ", end="")
    print(f"RMS over all channels {one.overall:.0%}")

mne_otica.viz.plot_reduction(result, show=False)
plt.show()

# %%
# Harm
# ----
# The harm is what was taken out away from blinks: RMS(before - after) / RMS(before), in all samples
# that are at least a second away from a blink.

print(f"Only the blinks: {result.harm.taken_out:.1%} taken out away from blinks")
print(f"Whole component: {whole.harm.taken_out:.1%}")

mne_otica.viz.plot_harm(whole, show=False)
plt.show()

# %%
# The figure shows the harm of removing the whole component. It is largest at the frontal channels,
# about a third of the signal at Fp1.
#
# Outside the windows around blinks, the default changes no sample at all. Why is its harm not zero?
# Because it is measured between 1 and 40 Hz, and the filter spreads each blink over about a second
# on either side. Even the ideal result has a harm of 0.9 % by this measure.

floor = mne_otica.preservation(before, perfect, result.events)
print(f"Ideal result: {floor.taken_out:.1%}")

# %%
# The change of the RMS is *not* a measure of the harm: removing a component lowers the amplitude of
# some channels and raises that of others, and the two cancel.

print(f"Whole component, change of the RMS: {whole.harm.rms_change:+.1%}")

# %%
# If only the blinks are removed, one question remains: how much brain activity is removed
# during blinks? It cannot be measured. *Sham events* answer a similar question: what would the
# same procedure remove at times without a blink? Here it is nothing, because each event is weighted
# by the probability that it is a blink.

print(f"Taken out for sham events: {result.harm.sham:.1%}")
print(f"Rank before and after: {result.harm.rank_before}, {result.harm.rank_after}")
print(f"Whole component: {whole.harm.rank_before}, {whole.harm.rank_after}")

# %%
# The truth
# ---------
# In a simulation, the difference from the ideal result is known. Taking out only the blinks halves
# it, from 1.3 to 0.6 µV; before cleaning it was 8.7 µV. Removing more components makes it larger,
# while the reduction of the RMS at blinks still increases: this is why it must never be looked
# at alone.


def remove(n_more):
    """Return the recording without the blink component and ``n_more`` others."""
    ica = whole.ica.copy()
    others = [k for k in range(ica.n_components_) if k not in ica.exclude]
    return ica.apply(before.copy(), exclude=others[:n_more])  # besides those in ica.exclude


def distance(one):
    """Return the RMS difference from the ideal result, in µV."""
    return 1e6 * np.sqrt(np.mean((one.get_data() - perfect.get_data()) ** 2))


counts = np.arange(0, 11)
cleaned = [remove(n) for n in counts]
benefits = [mne_otica.rms_reduction(before, one, result.events) for one in cleaned]
harms = [mne_otica.preservation(before, one, result.events) for one in cleaned]
errors = [distance(one) for one in cleaned]
by_events = distance(result.raw.copy().filter(*band))

fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
axes[0].plot(counts, [100 * one.overall for one in benefits], "o-", label="RMS reduction at blinks")
axes[0].plot(
    counts,
    [100 * one.taken_out for one in harms],
    "s--",
    color="C3",
    label="taken out away from blinks",
)
axes[0].set(xlabel="Further components removed", ylabel="%", ylim=(0, 100))
axes[0].legend(frameon=False)
axes[1].plot(counts, errors, "o-", color="k", label="whole components")
axes[1].axhline(by_events, color="C0", linestyle="--", label="only the blinks")
axes[1].set(xlabel="Further components removed", ylabel="Difference from the ideal (µV)", ylim=0)
axes[1].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With ten further components, the RMS at blinks is reduced by about 77 % instead of 59 %, but about
# 80 % of the signal away from blinks are taken out.

print(f"RMS at blinks {benefits[-1].overall:.0%}, taken out {harms[-1].taken_out:.0%}")
print(f"Difference from the ideal: {distance(before):.1f} µV before cleaning,")
print(f"{errors[0]:.1f} µV without the component, {by_events:.1f} µV without the blinks")

# %%
# `mne_otica.verdict` summarises both in one line, with a note if more than 30 % of the signal was
# taken out away from blinks.

print(mne_otica.verdict(benefits[0], harms[0]))
print(mne_otica.verdict(benefits[-1], harms[-1]))

# %%
# Where the blink times come from
# -------------------------------
# If blink times were taken from the component that is cleaned, the benefit would be biased upwards:
# the windows would be where that component is large. ``clean_raw`` therefore takes them from EOG or
# frontal channels if there are any.

print(f"Source of the blink times: {result.blinks.source}, {', '.join(result.blinks.channels)}")

# %%
# `mne_otica.rms_reduction` and `mne_otica.preservation` take a recording before, one after, and
# events, so they can be used with any method. :ref:`tut-comparing` compares five.
