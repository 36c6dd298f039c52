"""A folder as the exports in it: its files one by one, but for what is one export as a whole."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orbit_pipelines.errors import NoConversation, UnreadableExport
from orbit_pipelines.history.formats.registry import holds_conversations
from orbit_pipelines.history.reading import choose_documents, is_workspace, read_head
from orbit_pipelines.history.sniffing import is_zip


@dataclass(slots=True)
class Folder:
    """What a folder and its subfolders hold: ``exports`` in order, and how many other files were ``passed_over``."""

    exports: list[Path] = field(default_factory=list)
    passed_over: int = 0


def list_exports(path: str | Path) -> Folder:
    """Return the exports that a folder and its subfolders hold, in an order that only their names decide.

    Every file is looked into that is called like data or begins like it. Hidden ones are left out, and what a product
    is known to put beside its conversations, unless it holds some; links to other folders aren't followed.

    Raises:
        UnreadableExport: the folder can't be listed.
        NoConversation: nothing in it can hold conversations.
    """
    folder = Path(path)
    found = Folder()
    found.exports.extend(_walk(folder, found))
    if not found.exports:
        raise NoConversation(
            f"{folder} is a folder, but nothing in it is a zip, JSON, JSON lines or Parquet, as exports are. "
            "Name the folder or file that the export was saved as."
        )
    return found


def _walk(folder: Path, found: Folder) -> Iterator[Path]:
    if is_workspace(folder):
        yield folder
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: (entry.name.lower(), entry.name))
    except OSError as error:
        raise UnreadableExport(f"{folder} can't be listed: {error.strerror}.") from None
    seen = [entry for entry in entries if not entry.name.startswith(".") and entry.name != "__MACOSX"]
    files = [entry.name for entry in seen if entry.is_file()]
    zips = [name for name in files if name.lower().endswith(".zip") or _is_unnamed_zip(folder / name)]
    others = [(name,) for name in files if name not in zips]
    chosen = choose_documents(others, lambda parts: read_head(folder.joinpath(*parts)))
    found.passed_over += chosen.passed_over
    for (name,) in chosen.documents:
        yield folder / name
    for (name,) in chosen.aside:
        if holds_conversations(folder / name):
            yield folder / name
    for name in zips:
        yield folder / name
    for entry in seen:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(folder / entry.name, found)


def _is_unnamed_zip(path: Path) -> bool:
    """Say whether a file without an ending is a zip; what has another ending is a document or program packed as one."""
    return not path.suffix and is_zip(read_head(path))
