"""A folder as the exports in it: its files one by one, but for what is one export as a whole."""

import os
from collections.abc import Iterator
from pathlib import Path

from orbit_pipelines.errors import NoConversation, UnreadableExport
from orbit_pipelines.history.reading import choose_documents, is_workspace


def list_exports(path: str | Path) -> list[Path]:
    """Return the exports that a folder and its subfolders hold, in an order that only their names decide.

    Names choose only what is looked into: data files, zips, and folders that are an export as a whole. Hidden ones and
    what lies beside the shards of a product's export are left out; links to other folders aren't followed.

    Raises:
        UnreadableExport: the folder can't be listed.
        NoConversation: nothing in it can hold conversations.
    """
    folder = Path(path)
    exports = list(_walk(folder))
    if not exports:
        raise NoConversation(
            f"{folder} is a folder, but no .zip, .json, .jsonl or .parquet file in it can hold conversations."
        )
    return exports


def _walk(folder: Path) -> Iterator[Path]:
    if is_workspace(folder):
        yield folder
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: (entry.name.lower(), entry.name))
    except OSError as error:
        raise UnreadableExport(f"{folder} can't be listed: {error.strerror}.") from None
    seen = [entry for entry in entries if not entry.name.startswith(".") and entry.name != "__MACOSX"]
    files = [entry.name for entry in seen if entry.is_file()]
    data = [name for (name,) in choose_documents((name,) for name in files)]
    for name in (*data, *(name for name in files if name.lower().endswith(".zip"))):
        yield folder / name
    for entry in seen:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(folder / entry.name)
