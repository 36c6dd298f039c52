from typing import Any

import psycopg
import pytest

from orbit_pipelines.lineage.charts import BuildCounts, changes_chart, recent_builds

Connection = psycopg.Connection[Any]


def test_the_newest_published_builds_come_oldest_first(connection: Connection, five_weeks: list[int]) -> None:
    assert [(build.build_id, build.added, build.removed) for build in recent_builds(connection, 3)] == [
        (5, 2, 0),
        (6, 0, 1),
        (7, 1, 2),
    ]


@pytest.mark.parametrize("count", [0, 1, 30])
def test_the_chart_is_a_small_png(count: int) -> None:
    builds = [
        BuildCounts(number, None, 40_000 if number == 1 else number % 7, number % 3) for number in range(1, count + 1)
    ]

    png = changes_chart(builds)

    assert png.startswith(b"\x89PNG")
    assert len(png) < 40_000
