"""The steps' seconds as a picture: one panel a size, this project beside its floor and the peers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orbit_pipelines.bench.measurements import BenchResult
from orbit_pipelines.bench.steps import STEPS
from orbit_pipelines.bench.wording import seconds_of

_US, _FLOOR = "orbit", "COPY floor"
_COLOURS = {_US: "#2a78b8", _FLOOR: "#b9bec4"}
_PEER_COLOURS = ("#d1662f", "#6a9a3b", "#8c62ab", "#c2a53a", "#5f7a8a")


def plot_steps(result: BenchResult, path: Path) -> None:
    """Draw a PNG. Seconds are on a logarithmic scale; a floor without rows, and a step that failed, have no bar."""
    # Half a second of import that only a drawn plot should cost.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    sizes = result.sizes
    figure = Figure(figsize=(9, 0.6 + 2.7 * len(sizes)), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    for pairs, axes in zip(sizes, figure.subplots(len(sizes), squeeze=False)[:, 0], strict=True):
        _draw_size(axes, result, pairs)
    figure.axes[0].legend(frameon=False, ncols=4, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    figure.savefig(path, format="png")


def _draw_size(axes: Any, result: BenchResult, pairs: int) -> None:
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415 - as above

    steps = [step.step for step in result.steps if step.pairs == pairs]
    seconds = seconds_by_participant(result, pairs)
    peers = [name for name in seconds if name not in _COLOURS]
    colours = _COLOURS | dict(zip(peers, _PEER_COLOURS * len(peers), strict=False))
    width = 0.8 / len(seconds)
    for number, (name, by_step) in enumerate(seconds.items()):
        drawn = [(place, by_step[step]) for place, step in enumerate(steps) if step in by_step]
        places = [place + (number - (len(seconds) - 1) / 2) * width for place, _ in drawn]
        axes.bar(places, [height for _, height in drawn], width, color=colours[name], label=name)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds_of(value)))
    labels = [f"{step}\n{STEPS[step].title}" for step in steps]
    axes.set_xticks(range(len(steps)), labels, fontsize=8)
    axes.set_title(f"{pairs:,} pairs", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def seconds_by_participant(result: BenchResult, pairs: int) -> dict[str, dict[str, float]]:
    """Return who → step → seconds, of one size: this project, its floor, then the peers."""
    ours = [step for step in result.steps if step.pairs == pairs]
    peers = [peer for peer in result.peers if peer.pairs == pairs]
    names: Sequence[str] = tuple(dict.fromkeys(peer.peer for peer in peers))
    return {
        _US: {step.step: step.seconds for step in ours},
        _FLOOR: {step.step: step.floor_seconds for step in ours if step.ratio is not None},
        **{
            name: {peer.step: peer.seconds for peer in peers if peer.peer == name and peer.seconds is not None}
            for name in names
        },
    }
