from orbit_pipelines.bench.command import measure_command
from orbit_pipelines.bench.places import Place, bench_database
from orbit_pipelines.database.connection import connect


def test_the_whole_command_is_told_apart_from_dagster_and_the_build(place: Place) -> None:
    with bench_database(place) as settings:
        measured = measure_command(settings, 0)
        with connect(str(settings.database_url)) as connection:
            builds = connection.execute("select status from memory.build order by build_id").fetchall()
    assert builds == [("published",), ("unchanged",)]
    assert measured.events > 10
    parts = (measured.imports, measured.dagster, measured.build)
    assert min(parts) > 0
    assert measured.seconds > max(measured.dagster, measured.build)
