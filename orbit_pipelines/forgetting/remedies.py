"""What to do about something of a forgotten session that is still found: by what it is and where it lies. Pure."""

from collections.abc import Mapping

from orbit_pipelines.forgetting.kinds import Absence

PLACES_SHOWN = 5
"""How many places a message names of each road."""

_BY_TABLE = {
    "memory.chunk": "memory.chunk: run orbit build, for a build that is due follows what was edited or removed; if the "
    "row is still found, delete it, and orbit build --full makes it again from what its own session says",
    "memory.embedding_cache": "memory.embedding_cache: delete the row; a later build embeds its text again",
    "memory.change": "memory.change: set content_hash of the row to null, then move the folder lineage away; the next "
    "build mirrors everything anew",
}
_BY_ROAD = {
    "lineage_mirror": "lineage_mirror: move the folder lineage away; the next build mirrors everything anew",
    "mirror_files": "mirror_files: move the folder lineage away; the next build mirrors everything anew",
    "files": "files: take the text out of the file, or remove it",
    "workspace_files": "workspace_files: remove the folder in workspaces once no build works in it",
    "event_log": "event_log: delete the run in Dagster that logged it",
    "planner_statistics": "planner_statistics: analyze the table, as its owner",
    "bytes": "bytes: end transactions that are older than this run, then repeat it",
}
_OTHER_TABLE = "{table}: delete the row, or empty the column that holds it"
_RUN_AGAIN = "run orbit forget again, with the same selectors"


def tell_found(verified: Mapping[str, Absence]) -> str:
    """Return what was found and where, in one sentence: keys of rows and names of files, no text."""
    return ", ".join(
        f"{absence.found:,} of {name}{_places(absence.where)}" for name, absence in verified.items() if absence.found
    )


def what_to_do(verified: Mapping[str, Absence]) -> str:
    """Return what takes away what was found, in one sentence; it ends with the forget that has to come after.

    Kinds and the fence are mended by the same command. Other roads find what no lineage leads to, so that a forget
    finds it again, and removes nothing.
    """
    advice = dict.fromkeys(
        each for name, absence in verified.items() if absence.found for each in _advice(name, absence.where)
    )
    return "; ".join([*advice, _RUN_AGAIN])


def _advice(name: str, places: tuple[str, ...]) -> list[str]:
    if name in _BY_ROAD:
        return [_BY_ROAD[name]]
    tables = [place.partition(" ")[0].rstrip(",") for place in places]
    return [_BY_TABLE.get(table, _OTHER_TABLE.format(table=table)) for table in tables if table.startswith("memory.")]


def _places(where: tuple[str, ...]) -> str:
    if not where:
        return ""
    more = f" and {len(where) - PLACES_SHOWN:,} more" if len(where) > PLACES_SHOWN else ""
    return f" ({', '.join(where[:PLACES_SHOWN])}{more})"
