"""
.. _tut-judging:

30. Judging the cleaning: benefit and harm
==========================================

"The blinks are gone" is half of an answer. The other half is what went with them. This
tutorial measures both, on a simulated recording where the perfect result is known.
"""

# %%
# Benefit
# -------
# The benefit is the reduction of the root mean square (RMS) of the signal in windows of 250 ms on
# either side of each blink: 1 - RMS(after) / RMS(before).

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
# About 59 % over all channels: channels at the back hardly see a blink, so little can go there.
# At the five channels that see most of it, it is about 80 %.

worst = benefit.most_affected()
assert abs(benefit.overall - 0.59) < 0.02
assert abs(benefit.over(worst) - 0.80) < 0.02

mne_otica.viz.plot_reduction(result, show=False)
plt.show()

# %%
# Why not 100 %?
# --------------
# Because the brain goes on while the eyes are shut. The simulation has the same recording
# without blinks, which is the best that any method could return. Its reduction is 58 %, and 79 % at
# the five channels: that is the ceiling, and more would be brain.

band = result.settings["l_freq"], result.settings["h_freq"]
before = result.filtered()
perfect = sim.without_blinks.copy().filter(*band)
events = result.events.events
ceiling = mne_otica.rms_reduction(before, perfect, events)
assert round(ceiling.overall, 2) == 0.58
assert round(ceiling.over(worst), 2) == 0.79

# %%
# Harm
# ----
# The harm is the same measure where there was no blink, in windows that keep away from all of
# them, with the change of the power of each band and the correlation of before with after.

harm = result.harm
assert abs(harm.rms_change) < 0.01
assert harm.correlation > 0.99
print(f"Without blinks the RMS changed by {harm.rms_change:+.1%}")

mne_otica.viz.plot_band_power(result, show=False)
plt.show()

# %%
# The RMS changed by less than 1 %, but the power of the delta band fell by 5 to 8 %: a blink
# component that is not quite pure takes slow frontal activity along. If delta is what you study,
# look at this figure.

assert -0.08 < harm.band_power["delta"] < -0.05

# %%
# More is not better
# ------------------
# Who looks at the benefit alone can always have more of it: by removing more. Here the next
# components go one after the other as well.


def remove(n_more):
    """Return the recording without the blink component and some more."""
    ica = result.ica.copy()
    others = [k for k in range(ica.n_components_) if k not in result.ica.exclude]
    ica.exclude = result.ica.exclude + others[:n_more]
    return ica.apply(before.copy())


def distance(one):
    """Return the RMS difference to the perfect recording, in µV."""
    return 1e6 * np.sqrt(np.mean((one.get_data() - perfect.get_data()) ** 2))


counts = np.arange(0, 11)
cleaned = [remove(n) for n in counts]
benefits = [mne_otica.rms_reduction(before, one, events) for one in cleaned]
harms = [mne_otica.preservation(before, one, events) for one in cleaned]
errors = [distance(one) for one in cleaned]

fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
axes[0].plot(counts, [100 * one.overall for one in benefits], "o-", label="benefit")
axes[0].plot(counts, [-100 * one.rms_change for one in harms], "s--", color="C3", label="harm")
axes[0].set(xlabel="Components removed besides the blinks'", ylabel="RMS lost (%)")
axes[0].legend(frameon=False)
axes[1].plot(counts, errors, "o-", color="k")
axes[1].set(
    xlabel="Components removed besides the blinks'", ylabel="Distance to the truth (µV)", ylim=0
)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The benefit grows to about 74 %, and looks ever better. The harm tells: some 40 % of the signal
# away from blinks is gone in the end, and the distance to the truth is least, about 1.3 µV, where
# only the blink component went. It was 8.7 µV before.

assert abs(benefits[-1].overall - 0.74) < 0.03
assert abs(harms[-1].rms_change + 0.40) < 0.04
assert np.argmin(errors) == 0
assert abs(errors[0] - 1.3) < 0.1
assert round(distance(before), 1) == 8.7

# %%
# `mne_otica.verdict` puts both into one line, and says so where more than 5 % changed
# elsewhere.

print(mne_otica.verdict(benefits[0], harms[0]))
print(mne_otica.verdict(benefits[3], harms[3]))
assert harms[3].over_cleaned
assert not harms[0].over_cleaned

# %%
# Where the windows come from
# ---------------------------
# Windows chosen by the component that is removed flatter the result: where that component is
# large, removing it must help. ``clean_raw`` therefore takes the times from EOG or frontal channels
# where there are any, and ``result.events.source`` says which it was.

assert result.events.source == "frontal"
print(f"Blink times from {', '.join(result.events.channels)}")

# %%
# `mne_otica.rms_reduction` and `mne_otica.preservation` measure any cleaning, by any method: they
# take a recording before, one after, and events. `Tutorial 60 <60_comparing.html>`__ uses them so.
