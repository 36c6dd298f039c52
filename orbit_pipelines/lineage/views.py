"""``lineage.duckdb``: the views an analyst queries, over the mirror's files.

The views name every file by its absolute path. So a reader sees one state of the mirror for as long as it has the file
open, however many builds mirror meanwhile; opened again, it sees the newest. The file is always written anew beside
the old one and put in its place at once, and it is never written while anyone can open it.
"""

from collections.abc import Iterable
from pathlib import Path

import duckdb

from orbit_pipelines.database.statements import statement
from orbit_pipelines.lineage.parts import StoredPart, live_parts, replacing, stored_parts
from orbit_pipelines.lineage.tables import FORGETS, TABLES

FILE_NAME = "lineage.duckdb"
VIEWS = ("builds", "source_statuses", "changes", "skipped", "chunk_history", "forgets")


def write_views(folder: Path, live: Iterable[StoredPart] | None = None) -> Path:
    """Write the views over the folder's files where they aren't there, or are over other files or another place.

    Args:
        folder: the mirror's folder, with its tables seeded.
        live: the parts that count; looked for when not given.

    Returns:
        The database file.
    """
    folder = folder.absolute()
    wanted = _files(folder, live_parts(stored_parts(folder)) if live is None else live)
    path = folder / FILE_NAME
    if _files_viewed(path) != wanted:
        with replacing(path) as temporary:
            _create(temporary, wanted)
        # What a reader that opened the old file for writing left behind would not fit the new one.
        path.with_name(f"{FILE_NAME}.wal").unlink(missing_ok=True)
    return path


def _files(folder: Path, live: Iterable[StoredPart]) -> dict[str, list[str]]:
    files = {table.name: [str(folder / table.name / "empty.parquet")] for table in TABLES}
    for part in sorted(live, key=lambda each: each.part):
        for table, path in part.files(folder):
            files[table.name].append(str(path))
    everything = forgets_file(folder)
    files[FORGETS.name] = [str(everything if everything.exists() else folder / FORGETS.name / "empty.parquet")]
    return files


def forgets_file(folder: Path) -> Path:
    """Return where the mirror keeps what is forgotten."""
    return folder / FORGETS.name / "all.parquet"


def _files_viewed(path: Path) -> dict[str, list[str]] | None:
    if not path.exists():
        return None
    try:
        with duckdb.connect(path, read_only=True) as database:
            rows = database.execute("select table_name, path from mirrored_file order by all").fetchall()
    except duckdb.Error:
        # Damaged, of an older program, or opened for writing by someone: a new file serves everyone.
        return None
    files: dict[str, list[str]] = {}
    for table, file in rows:
        files.setdefault(table, []).append(file)
    return files


def _create(path: Path, files: dict[str, list[str]]) -> None:
    with duckdb.connect(path) as database:
        database.execute("create table mirrored_file (table_name varchar not null, path varchar not null)")
        database.executemany(
            "insert into mirrored_file values (?, ?)", [(table, file) for table in files for file in files[table]]
        )
        for table, paths in files.items():
            rows = database.read_parquet(paths, union_by_name=True, hive_partitioning=False)
            rows.create_view(f"mirrored_{table}")
        for view in VIEWS:
            database.execute(statement(f"create_view_{view}").decode())
