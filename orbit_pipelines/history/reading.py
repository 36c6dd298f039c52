"""Containers: what a person hands over (a file, a zip, a folder, a pipe) as documents of counted, limited bytes.

Nothing is unpacked to disk, and nothing a zip says of itself is believed: its paths are names to choose by and never
places to write to, and the sizes it declares may condemn it but never excuse it.
"""

import io
import os
import re
import stat
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from orbit_pipelines.errors import UnknownExportFormat, UnreadableExport

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LARGEST_UNPACKED = 16 * 2**30
"""The most bytes that the documents of one zip may unpack to, all together."""

HIGHEST_RATIO = 300
"""How often its packed size a document may unpack to. Chats pack 5 to 30 times, a bomb about 1,000 times."""

RATIO_MATTERS_FROM = 32 * 2**20
"""Below this many unpacked bytes the ratio isn't looked at: small files harm nobody."""

LARGEST_IN_MEMORY = 512 * 2**20
"""The most bytes that what must be read to and fro may have where it can't be: a zip from a pipe, Parquet in a zip."""

STANDARD_INPUT = "-"

Progress = Callable[[int], None]
"""Told the number of bytes just read, each time some were."""

Parts = tuple[str, ...]
"""A path within a zip or folder, a name to choose by."""

_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_SHARD = re.compile(r"conversations(?:[-_ ]?([0-9]{1,9}))?\.json")
_OTHER_DATA = re.compile(r".+\.(?:json|jsonl|ndjson|parquet)")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.json")
_COMPANIONS = frozenset({"users.json", "channels.json", "groups.json", "dms.json", "mpims.json"})
_NO_CONVERSATIONS = _COMPANIONS | frozenset(
    {
        "canvases.json",
        "file_conversations.json",
        "huddle_transcripts.json",
        "integration_logs.json",
        "lists.json",
        "memories.json",
        "message_feedback.json",
        "model_comparisons.json",
        "projects.json",
        "sessions.json",
        "shared_conversations.json",
        "user.json",
        "user_settings.json",
    }
)


@dataclass(frozen=True, slots=True)
class Document:
    """One file of JSON, JSON lines or Parquet inside an export; ``open`` is for one reading.

    ``folder`` is the name of the folder it lies in within its zip or folder, None for a file handed over alone.
    """

    name: str
    open: Callable[[], io.RawIOBase]
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """What one path turned out to hold. ``size`` is the bytes that reading all of it takes; None where unknown.

    ``companions`` are the lists of users and channels that some products put beside their conversations.
    """

    name: str
    documents: tuple[Document, ...]
    size: int | None
    companions: tuple[Document, ...] = ()


@contextmanager
def open_export(path: str | Path, *, progress: Progress | None = None) -> Iterator[Export]:
    """Open ``path`` (``-`` is standard input) for reading once, front to back.

    Raises:
        UnreadableExport: there is no such file, it can't be opened, it is a folder that is no export as a whole, or
            it is a zip that is broken or a bomb.
        UnknownExportFormat: a zip in which nothing can be a conversation.
    """
    report = progress or (lambda _: None)
    with ExitStack() as opened:
        if str(path) == STANDARD_INPUT:
            yield _open_bytes("standard input", sys.stdin.buffer, report, opened)
            return
        path = Path(path)
        # Unlike Path's, this answers for a path that can't exist.
        if os.path.isdir(path) and is_workspace(path):
            yield _list_folder(path, report)
            return
        yield _open_bytes(path.name, opened.enter_context(_open_file(path)), report, opened)


def _open_bytes(name: str, file: IO[bytes], report: Progress, opened: ExitStack) -> Export:
    """Return what a file or pipe holds; what must be closed afterwards is left to ``opened``."""
    if not _is_regular(file):
        return _open_pipe(name, file, report, opened)
    is_zip = file.read(4) in _ZIP_MAGIC
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if is_zip:
        return _list_entries(name, opened.enter_context(_open_zip(name, file)), report)
    return Export(name, (Document(name, lambda: CountedStream(name, file, report, is_seekable=True)),), size)


def _is_regular(file: IO[bytes]) -> bool:
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):
        return False


class CountedStream(io.RawIOBase):
    """The bytes of one document, each counted before it is passed on; a fault of the container gets its name.

    Closing it leaves the source open, unless it is its own: whoever opened that closes it.
    """

    def __init__(
        self, name: str, source: IO[bytes], count: Progress, *, is_seekable: bool = False, owns_source: bool = False
    ) -> None:
        """Read ``source`` from where it stands; ``count`` may raise to refuse the bytes just read."""
        self._name = name
        self._source = source
        self._count = count
        self._is_seekable = is_seekable
        self._owns_source = owns_source

    def close(self) -> None:
        """Close the source too, where nobody else does."""
        if self._owns_source and not self.closed:
            self._source.close()
        super().close()

    def seekable(self) -> bool:
        """Say whether reading can go to and fro without reading anything twice over."""
        return self._is_seekable

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to another place of the source."""
        return self._source.seek(offset, whence)

    def tell(self) -> int:
        """Say where the source stands."""
        return self._source.tell()

    def readable(self) -> bool:
        """Say yes: the layers above ask."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill ``buffer`` as far as the source gives."""
        view = memoryview(buffer).cast("B")
        data, fault = b"", None
        try:
            data = self._source.read(len(view))
        except Exception as error:  # zipfile and its decompressors raise a dozen unrelated classes
            fault = type(error).__name__
        # Raised out here, so that no error that might show a person's bytes hangs on this one.
        if fault is not None:
            raise UnreadableExport(
                f"{self._name} can't be read to its end ({fault}): it is cut short or damaged. "
                "Download or export it again."
            )
        if data:
            self._count(len(data))
            view[: len(data)] = data
        return len(data)


def _open_file(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise UnreadableExport(f"There is no file {path}. Check the path.") from None
    except IsADirectoryError:
        raise UnreadableExport(f"{path} is a folder. Name the files in it instead.") from None
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "that is no usable path"
        raise UnreadableExport(f"{path} can't be opened: {reason}.") from None


def _open_pipe(name: str, pipe: IO[bytes], report: Progress, opened: ExitStack) -> Export:
    if not (isinstance(pipe, io.BufferedReader) and pipe.peek(4)[:4] in _ZIP_MAGIC):
        return Export(name, (Document(name, lambda: CountedStream(name, pipe, report)),), None)
    # A zip's table of contents stands at its end.
    packed = read_into_memory(name, pipe)
    return _list_entries(name, opened.enter_context(_open_zip(name, packed)), report)


def read_into_memory(name: str, source: IO[bytes] | io.RawIOBase) -> io.BytesIO:
    """Return all that is left of ``source``, for what has to be read to and fro.

    Raises:
        UnreadableExport: it is more than ``LARGEST_IN_MEMORY`` bytes.
    """
    held = io.BytesIO()
    while data := source.read(2**20):
        held.write(data)
        if held.tell() > LARGEST_IN_MEMORY:
            raise UnreadableExport(
                f"{name} has more than {LARGEST_IN_MEMORY:,} bytes, the most that can be read this way. "
                "Import it as a file of its own."
            )
    held.seek(0)
    return held


def _open_zip(name: str, file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except Exception as error:  # a mangled table of contents makes zipfile raise a dozen unrelated classes
        raise UnreadableExport(
            f"{name} begins like a zip but has no readable table of contents ({type(error).__name__}): it is cut short "
            "or damaged. Download or export it again."
        ) from None


def _list_entries(name: str, archive: zipfile.ZipFile, report: Progress) -> Export:
    entries = {_parts(entry.filename): entry for entry in archive.infolist() if not entry.is_dir()}
    chosen = [entries[parts] for parts in choose_documents(entries)]
    companions = [entries[parts] for parts in _choose_companions(entries)]
    if not chosen:
        raise UnknownExportFormat(
            f"{name} is a zip of {len(entries):,} entries, but none of them is conversations.json, "
            "conversations-000.json or the like, or another .json, .jsonl or .parquet file that can hold conversations."
        )
    declared = 0
    for entry in (*companions, *chosen):
        declared += entry.file_size
        _refuse_bomb(entry, entry.file_size, declared)
    size = sum(entry.file_size for entry in chosen)
    unpacking = _Unpacking(report)

    def document(entry: zipfile.ZipInfo) -> Document:
        folder = _parts(entry.filename)[-2:-1]
        return Document(_shown(entry), partial(_open_entry, archive, entry, unpacking), folder[0] if folder else "")

    return Export(name, tuple(map(document, chosen)), size, tuple(map(document, companions)))


def is_workspace(folder: Path) -> bool:
    """Say whether a folder is an export as a whole: lists of users or channels, and folders of one file a day."""
    return any((folder / name).is_file() for name in _COMPANIONS) and any(
        _DAY.fullmatch(day.name) for day in folder.glob("*/*.json")
    )


def _list_folder(folder: Path, report: Progress) -> Export:
    paths = {_parts(path.relative_to(folder).as_posix()): path for path in folder.rglob("*") if path.is_file()}
    chosen = [paths[parts] for parts in choose_documents(paths)]
    companions = [paths[parts] for parts in _choose_companions(paths)]

    def document(path: Path) -> Document:
        return Document(
            path.name, lambda: CountedStream(path.name, _open_file(path), report, owns_source=True), path.parent.name
        )

    size = sum(path.stat().st_size for path in chosen)
    return Export(folder.name, tuple(map(document, chosen)), size, tuple(map(document, companions)))


@dataclass(slots=True)
class _Unpacking:
    """What one zip has unpacked to so far."""

    report: Progress
    whole: int = 0

    def follow(self, entry: zipfile.ZipInfo) -> Progress:
        """Return what counts the bytes of ``entry`` and refuses those beyond a limit."""
        unpacked = 0

        def count(read: int) -> None:
            nonlocal unpacked
            unpacked += read
            self.whole += read
            _refuse_bomb(entry, unpacked, self.whole)
            self.report(read)

        return count


def _refuse_bomb(entry: zipfile.ZipInfo, unpacked: int, whole: int) -> None:
    if whole > LARGEST_UNPACKED:
        raise UnreadableExport(
            f"With {_shown(entry)} the zip unpacks to more than {LARGEST_UNPACKED:,} bytes, the most that one zip may. "
            "If it is a real export, unpack it and import its files one by one."
        )
    if unpacked > RATIO_MATTERS_FROM and unpacked > HIGHEST_RATIO * entry.compress_size:
        raise UnreadableExport(
            f"{_shown(entry)} unpacks to more than {HIGHEST_RATIO} times its {entry.compress_size:,} packed bytes, the "
            "limit for a zip: chats don't, bombs do. If it is a real export, unpack it and import its files one by one."
        )


def _open_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, unpacking: _Unpacking) -> CountedStream:
    name = _shown(entry)
    if entry.flag_bits & 0x1:
        raise UnreadableExport(f"{name} is encrypted in its zip. Unpack it with its password and import the file.")
    try:
        return CountedStream(name, archive.open(entry), unpacking.follow(entry), owns_source=True)
    except Exception as error:  # as above: whatever zipfile makes of a mangled entry
        raise UnreadableExport(
            f"{name} can't be unpacked ({type(error).__name__}): its zip is damaged. Download or export it again."
        ) from None


def choose_documents(entries: Iterable[Parts]) -> list[Parts]:
    """Return the shards of a product's export in their order; failing those, whatever else can hold conversations.

    Args:
        entries: the paths within a zip or folder.
    """
    seen = [parts for parts in entries if parts and not any(map(_is_sidecar, parts))]
    shards = [
        (_folded(parts[:-1]), int(shard[1] or -1), parts)
        for parts in seen
        if (shard := _SHARD.fullmatch(parts[-1].lower()))
    ]
    if shards:
        return [parts for *_, parts in sorted(shards)]
    names = ((parts, parts[-1].lower()) for parts in seen)
    others = [parts for parts, name in names if _OTHER_DATA.fullmatch(name) and name not in _NO_CONVERSATIONS]
    return sorted(others, key=lambda parts: (_folded(parts), parts))


def _choose_companions(entries: Iterable[Parts]) -> list[Parts]:
    seen = (parts for parts in entries if parts and not any(map(_is_sidecar, parts)))
    return sorted(parts for parts in seen if parts[-1].lower() in _COMPANIONS)


def _parts(path: str) -> Parts:
    return PurePosixPath(path.replace("\\", "/")).parts


def _folded(parts: Parts) -> Parts:
    return tuple(part.lower() for part in parts)


def _is_sidecar(part: str) -> bool:
    return part.lower() == "__macosx" or (part.startswith(".") and part not in (".", ".."))


def _shown(entry: zipfile.ZipInfo) -> str:
    """Return the entry's name as a message may show it: its last part, printable, not long."""
    last = (_parts(entry.filename) or ("",))[-1]
    return "".join(letter if letter.isprintable() else "?" for letter in last)[:80] or "an entry without a name"
