"""No table or folder that holds what was made from sessions may be left out of a forget."""

from orbit_pipelines.dagster_home import prepare_dagster_home
from orbit_pipelines.forgetting.registry import FOLDERS_WITHOUT_ARTIFACTS, KINDS, TABLES_WITHOUT_ARTIFACTS
from orbit_pipelines.lineage.mirror import mirror_lineage
from tests.forgetting.forgetful import forget_in, talk
from tests.worlds import World


def test_every_table_belongs_to_a_kind_or_says_why_not(world: World) -> None:
    found = world.sql(
        "select n.nspname || '.' || c.relname from pg_class as c join pg_namespace as n on n.oid = c.relnamespace"
        " where n.nspname not in ('pg_catalog', 'information_schema', 'public') and n.nspname not like 'pg_toast%%'"
        "   and n.nspname not like 'pg_temp%%' and c.relkind in ('r', 'p', 'm', 'f') and not c.relispartition"
    )
    registered = {table for kind in KINDS for table in kind.tables}
    assert not registered & set(TABLES_WITHOUT_ARTIFACTS)
    assert {table for (table,) in found} == registered | set(TABLES_WITHOUT_ARTIFACTS)


def test_every_folder_belongs_to_a_kind_or_says_why_not(world: World) -> None:
    talk(world)
    mirror_lineage(world.connection, world.settings.lineage)
    prepare_dagster_home(world.settings)
    forget_in(world, sessions=("s1",))
    registered = {folder for kind in KINDS for folder in kind.folders}
    assert not registered & set(FOLDERS_WITHOUT_ARTIFACTS)
    known = registered | set(FOLDERS_WITHOUT_ARTIFACTS)
    assert {path.name for path in world.settings.home.iterdir() if path.is_dir()} <= known


def test_kinds_have_names_of_their_own() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names))
