"""A figure in which components are chosen by clicking them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from mne.viz.utils import plt_show

from mne_otica.cleaning.by_hand import check_recording, rechosen
from mne_otica.cleaning.overview import glances, parts
from mne_otica.cleaning.result import Cleaned
from mne_otica.utils.docs import fill_doc
from mne_otica.viz.component_figures import checked_component, label_component, plot_components
from mne_otica.viz.event_figures import plot_events, plot_traces

if TYPE_CHECKING:
    from matplotlib.backend_bases import MouseEvent


@fill_doc
class ComponentReview:
    """Choose the components of a result by clicking them, and see the effect.

    Clicking a component removes it, or keeps it if it was to be removed. In a notebook, figures
    respond to clicks with ``%%matplotlib widget``; `flip` does the same without a mouse.

    Parameters
    ----------
    %(result)s
    %(show)s

    Attributes
    ----------
    components : list of int
        The components chosen so far, which will be removed.
    maps, effect : instance of Figure
        All components, and the effect of removing those chosen.
    """

    def __init__(self, result: Cleaned, *, show: bool = True) -> None:
        check_recording(result)
        self._first = self._shown = result
        self.components = sorted(int(k) for k in result.ica.exclude)
        self.maps = plot_components(result, show=False)
        self.effect = plt.figure(figsize=(10, 5.6), layout="constrained")
        self._draw_effect()
        self.maps.canvas.mpl_connect("button_press_event", self._on_click)
        plt_show(show)

    def flip(self, component: int) -> None:
        """Remove a component, or keep it if it was to be removed.

        Parameters
        ----------
        component : int
            The component.
        """
        component = checked_component(self._first, component)
        self.components = sorted({*self.components} ^ {component})
        self._shown = rechosen(self._first, self.components, brief=True)
        (ax,) = (ax for ax in self.maps.axes if ax.get_label() == f"ICA{component:03d}")
        label_component(ax, glances(self._first)[component], component in self.components)
        self._draw_effect()
        self.maps.canvas.draw_idle()
        self.effect.canvas.draw_idle()

    def result(self) -> Cleaned:
        """Return the recording cleaned with the components chosen, and measured again.

        Returns
        -------
        result : instance of Cleaned
            A new result; the one under review is not changed.
        """
        return self._first.with_components(self.components)

    def _on_click(self, event: MouseEvent) -> None:
        """Flip the component whose topography or name was clicked, if any."""
        for ax in self.maps.axes:
            if ax.get_label().startswith("ICA") and (
                event.inaxes is ax or ax.title.contains(event)[0]
            ):
                self.flip(int(ax.get_label().removeprefix("ICA")))
                return

    def _draw_effect(self) -> None:
        """Draw the effect of the components chosen so far."""
        result = self._shown
        self.effect.clear()
        verdict = result.verdict[0].upper() + result.verdict[1:]
        self.effect.suptitle(verdict, fontsize="medium", wrap=True)
        seen = [part for part in parts(result) if part.benefit is not None]
        if not seen:
            return
        n_channels = min(3, len(seen[0].benefit.ch_names))
        top, bottom = self.effect.subfigures(2, 1)
        plot_traces(result, ax=top.subplots(), show=False)
        axes = list(bottom.subplots(1, n_channels, sharey=True, squeeze=False)[0])
        plot_events(result, n_channels=n_channels, axes=axes, show=False)
