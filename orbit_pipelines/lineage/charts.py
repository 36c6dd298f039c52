"""A small plot of what the last builds added to memory and removed from it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

from orbit_pipelines.database.statements import statement


@dataclass(frozen=True, slots=True)
class BuildCounts:
    """How many chunks one published build added and removed."""

    build_id: int
    published_at: datetime | None
    added: int
    removed: int


def recent_builds(connection: psycopg.Connection[Any], count: int = 20) -> list[BuildCounts]:
    """Return the last published builds, oldest first."""
    with connection.cursor(row_factory=class_row(BuildCounts)) as cursor:
        return cursor.execute(statement("list_recent_builds"), {"builds": count}).fetchall()[::-1]


def changes_chart(builds: Sequence[BuildCounts]) -> bytes:
    """Draw added chunks upwards and removed chunks downwards, build by build; return a PNG.

    Both sides share a scale that is linear near zero and logarithmic beyond, so that a small update stays visible
    beside a first build.
    """
    # Half a second of import that only a drawn chart should cost.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415

    figure = Figure(figsize=(7, 2.6), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    places = range(len(builds))
    axes.bar(places, [build.added for build in builds], color="#2a78b8", label="added")
    axes.bar(places, [-build.removed for build in builds], color="#d1662f", label="removed")
    axes.axhline(0, color="#444444", linewidth=0.8)
    axes.set_yscale("symlog", linthresh=10)
    most_added = max((build.added for build in builds), default=0)
    most_removed = max((build.removed for build in builds), default=0)
    axes.set_ylim(-1.6 * max(most_removed, 10) if most_removed else 0, 1.6 * max(most_added, 10))
    # A few builds shall look like a few builds: bars keep their width, and the rest stays free.
    axes.set_xlim(-0.6, max(len(builds), 10) - 0.4)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):,.0f}"))
    step = max(1, len(builds) // 12)
    axes.set_xticks(list(places)[::step], [str(build.build_id) for build in builds][::step])
    axes.set_xlabel("build")
    axes.set_ylabel("chunks")
    axes.spines[["top", "right"]].set_visible(False)
    if builds:
        axes.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    else:
        axes.text(0.5, 0.5, "no build has published yet", transform=axes.transAxes, ha="center", va="center")
    png = io.BytesIO()
    figure.savefig(png, format="png")
    return png.getvalue()
