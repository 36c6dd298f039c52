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
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from orbit_pipelines.errors import UnknownExportFormat, UnreadableExport
from orbit_pipelines.history.sniffing import HEAD, holds_data, is_zip

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
PIPED = "standard input"

Progress = Callable[[int], None]
"""Told the number of bytes just read, each time some were."""

Parts = tuple[str, ...]
"""A path within a zip or folder, a name to choose by."""

_SHARD = re.compile(r"conversations(?:[-_ ]?([0-9]{1,9}))?\.json")
_OTHER_DATA = re.compile(r".+\.(?:json|jsonl|ndjson|parquet)")
_DELETED = re.compile(r"\.deleted(?:\.|$)")
"""How OpenClaw renames the transcript of a session that was deleted."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.json")
SESSION_INDEX = "sessions.json"
"""The list of sessions that OpenClaw keeps beside its transcripts."""

_WORKSPACE_LISTS = frozenset({"users.json", "channels.json", "groups.json", "dms.json", "mpims.json"})
_COMPANIONS = _WORKSPACE_LISTS | {SESSION_INDEX}
_WORKSPACE_RECORDS = frozenset(
    {"canvases.json", "file_conversations.json", "huddle_transcripts.json", "integration_logs.json", "lists.json"}
)
_ASIDE = (
    _COMPANIONS
    | _WORKSPACE_RECORDS
    | frozenset(
        {
            "export_manifest.json",
            "memories.json",
            "message_feedback.json",
            "model_comparisons.json",
            "projects.json",
            "shared_conversations.json",
            "user.json",
            "user_settings.json",
        }
    )
)


@dataclass(frozen=True, slots=True)
class Document:
    """One file of JSON, JSON lines or Parquet inside an export; ``open`` is for one reading.

    ``folder`` is the name of the folder it lies in within its zip or folder, None for a file handed over alone.
    ``version`` tells a file on disk from any other, and from what it is once it changed; nothing, for what is in a zip.
    """

    name: str
    open: Callable[[], io.RawIOBase] = field(compare=False)
    folder: str | None = None
    version: tuple[str, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """What one path turned out to hold. ``size`` is the bytes that reading all of it takes; None where unknown.

    ``companions`` are the lists of users, channels or sessions that some products put beside their conversations.
    ``aside`` are files that products put beside their conversations, as a rule without any in them.
    ``passed_over`` counts the files that are something else (images, pages, sounds), and ``nested`` names zips within.
    """

    name: str
    documents: tuple[Document, ...]
    size: int | None
    companions: tuple[Document, ...] = ()
    aside: tuple[Document, ...] = ()
    passed_over: int = 0
    nested: tuple[str, ...] = ()


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
            yield _open_bytes(PIPED, sys.stdin.buffer, report, opened)
            return
        path = Path(path)
        # Unlike Path's, this answers for a path that can't exist.
        if os.path.isdir(path) and is_workspace(path):
            yield _list_folder(path, report)
            return
        export = _open_bytes(path.name, opened.enter_context(_open_file(path)), report, opened)
        index = path.with_name(SESSION_INDEX)
        if not export.companions and path.name.lower() != SESSION_INDEX and index.is_file():
            export = replace(export, companions=(_document(index, lambda _: None),))
        yield export


def _open_bytes(name: str, file: IO[bytes], report: Progress, opened: ExitStack) -> Export:
    """Return what a file or pipe holds; what must be closed afterwards is left to ``opened``."""
    if not _is_regular(file):
        return _open_pipe(name, file, report, opened)
    begins_zip = is_zip(file.read(4))
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if begins_zip:
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
    if not (isinstance(pipe, io.BufferedReader) and is_zip(pipe.peek(4))):
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
    entries = _by_path(archive)
    found = choose_documents(entries, lambda parts: _head_of_entry(archive, entries[parts]))
    chosen = [entries[parts] for parts in found.documents]
    companions = [entries[parts] for parts in _choose_companions(entries)]
    aside = [entries[parts] for parts in found.aside]
    if not chosen and not aside:
        advice = "Name the zip that the product's own export gave you."
        if found.zips:
            advice = f"{_shown(entries[found.zips[0]])} in it is a zip: unpack that one first."
        raise UnknownExportFormat(
            f"{name} is a zip of {len(entries):,} entries, but none of them is JSON, JSON lines or Parquet, as "
            f"conversations are. {advice}"
        )
    declared = 0
    for entry in (*companions, *aside, *chosen):
        declared += entry.file_size
        _refuse_bomb(entry, entry.file_size, declared)
    size = sum(entry.file_size for entry in chosen)
    unpacking = _Unpacking(report)

    def document(entry: zipfile.ZipInfo) -> Document:
        folder = _parts(entry.filename)[-2:-1]
        return Document(_shown(entry), partial(_open_entry, archive, entry, unpacking), folder[0] if folder else "")

    return Export(
        name,
        tuple(map(document, chosen)),
        size,
        tuple(map(document, companions)),
        tuple(map(document, aside)),
        found.passed_over,
        tuple(_shown(entries[parts]) for parts in found.zips),
    )


def _by_path(archive: zipfile.ZipFile) -> dict[Parts, zipfile.ZipInfo]:
    """Return a zip's files by their paths within it. Two of one path, and one without any, are all there."""
    entries: dict[Parts, zipfile.ZipInfo] = {}
    for number, entry in enumerate(archive.infolist()):
        if entry.filename.endswith("/"):
            continue
        parts = _parts(entry.filename) or ("unnamed",)
        while parts in entries:
            # Their number tells them apart at once, however many a path has.
            parts = (f"again {number}", *parts)
        entries[parts] = entry
    return entries


def is_workspace(folder: Path) -> bool:
    """Say whether a folder is an export as a whole: lists of users or channels, and folders of one file a day."""
    return any((folder / name).is_file() for name in _WORKSPACE_LISTS) and any(
        _DAY.fullmatch(day.name) for day in folder.glob("*/*.json")
    )


def _list_folder(folder: Path, report: Progress) -> Export:
    paths = {_parts(path.relative_to(folder).as_posix()): path for path in folder.rglob("*") if path.is_file()}
    found = choose_documents(paths, lambda parts: read_head(paths[parts]))
    chosen = [paths[parts] for parts in found.documents]
    companions = [paths[parts] for parts in _choose_companions(paths)]
    return Export(
        folder.name,
        tuple(_document(path, report) for path in chosen),
        sum(path.stat().st_size for path in chosen),
        tuple(_document(path, report) for path in companions),
        tuple(_document(paths[parts], report) for parts in found.aside),
        found.passed_over,
        tuple(paths[parts].name for parts in found.zips),
    )


def _document(path: Path, report: Progress) -> Document:
    status = path.stat()
    return Document(
        path.name,
        lambda: CountedStream(path.name, _open_file(path), report, owns_source=True),
        path.parent.name,
        (str(path), status.st_mtime_ns, status.st_size),
    )


def read_head(path: Path) -> bytes:
    """Return what tells what a file is; nothing of one that can't be opened."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


def _head_of_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(entry) as file:
            return file.read(HEAD)
    except Exception:  # as below: what can't be opened is told by its name
        return b""


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
    # As much as it really has, to be counted: the size it declares would only cut it short.
    whole = copy(entry)
    whole.file_size = sys.maxsize
    try:
        return CountedStream(name, archive.open(whole), unpacking.follow(entry), owns_source=True)
    except Exception as error:  # as above: whatever zipfile makes of a mangled entry
        raise UnreadableExport(
            f"{name} can't be unpacked ({type(error).__name__}): its zip is damaged. Download or export it again."
        ) from None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The paths of what can hold conversations, in the order to read them in, and of zips; the rest is counted.

    ``aside`` is what products put beside their conversations.
    """

    documents: list[Parts]
    aside: list[Parts]
    zips: list[Parts]
    passed_over: int


def choose_documents(entries: Iterable[Parts], head: Callable[[Parts], bytes]) -> Chosen:
    """Return what can hold conversations: the shards of a product's export in their order, and then all others.

    What is called like data is looked into whatever is in it, so that nobody misses it; what isn't, if it is data, and
    then first: it may be an older copy, and the last word is another's. What its product has deleted is left alone.

    Args:
        entries: the paths within a zip or folder.
        head: reads the beginning of one.
    """
    seen = [parts for parts in entries if parts and not any(map(_is_sidecar, parts))]
    left_alone: frozenset[str] = frozenset()
    if any(parts[-1].lower() in _WORKSPACE_LISTS for parts in seen) and any(_DAY.fullmatch(each[-1]) for each in seen):
        left_alone = _WORKSPACE_LISTS | _WORKSPACE_RECORDS
    shards: list[tuple[Parts, int, Parts]] = []
    others: list[Parts] = []
    unnamed: list[Parts] = []
    zips: list[Parts] = []
    passed_over = 0
    for parts in seen:
        name = parts[-1].lower()
        if shard := _SHARD.fullmatch(name):
            shards.append((_folded(parts[:-1]), int(shard[1] or -1), parts))
        elif name in left_alone:
            continue
        elif _OTHER_DATA.fullmatch(name):
            others.append(parts)
        elif _DELETED.search(name):
            passed_over += 1
        elif holds_data(beginning := head(parts)):
            unnamed.append(parts)
        elif name.endswith(".zip") and is_zip(beginning):
            zips.append(parts)
        else:
            passed_over += 1
    others.sort(key=lambda parts: (_folded(parts), parts))
    unnamed.sort(key=lambda parts: (_folded(parts), parts))
    named = [*(parts for *_, parts in sorted(shards)), *(each for each in others if not is_aside(each[-1]))]
    documents = unnamed + named
    return Chosen(documents, [each for each in others if is_aside(each[-1])], zips, passed_over)


def is_expected(name: str) -> bool:
    """Say whether a product calls a file of conversations like that: it is missed then if it can't be read."""
    return bool(_SHARD.fullmatch(name.lower()) or _DAY.fullmatch(name))


def is_aside(name: str) -> bool:
    """Say whether a product calls a file like that which holds no conversations: it goes without saying then."""
    return name.lower() in _ASIDE


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
