"""Containers: what a person hands over (a file, a zip, standard input) as documents of counted, limited bytes.

Nothing is unpacked to disk, and nothing a zip says of itself is believed: its paths are names to choose by and never
places to write to, and the sizes it declares may condemn it but never excuse it.
"""

import io
import re
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
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

STANDARD_INPUT = "-"

Progress = Callable[[int], None]
"""Told the number of bytes just read, each time some were."""

_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_SHARD = re.compile(r"conversations(?:[-_ ]?([0-9]{1,9}))?\.json")
_OTHER_DATA = re.compile(r".+\.(?:json|jsonl|ndjson)")
_NO_CONVERSATIONS = frozenset(
    {
        "memories.json",
        "message_feedback.json",
        "model_comparisons.json",
        "projects.json",
        "shared_conversations.json",
        "user.json",
        "user_settings.json",
        "users.json",
    }
)


@dataclass(frozen=True, slots=True)
class Document:
    """One file of JSON or JSON lines inside an export; ``open`` is for one reading."""

    name: str
    open: Callable[[], io.RawIOBase]


@dataclass(frozen=True, slots=True)
class Export:
    """What one path turned out to hold. ``size`` is the bytes that reading all of it takes; None where unknown."""

    name: str
    documents: tuple[Document, ...]
    size: int | None


@contextmanager
def open_export(path: str | Path, *, progress: Progress | None = None) -> Iterator[Export]:
    """Open ``path`` (``-`` is standard input) for reading once, front to back.

    Raises:
        UnreadableExport: there is no such file, it can't be opened, or it is a zip that is broken or a bomb.
        UnknownExportFormat: a zip in which nothing can be a conversation.
    """
    report = progress or (lambda _: None)
    with ExitStack() as opened:
        if str(path) == STANDARD_INPUT:
            yield _pipe("standard input", sys.stdin.buffer, report)
            return
        path = Path(path)
        file = opened.enter_context(_open_file(path))
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            yield _pipe(path.name, file, report)
            return
        is_zip = file.read(4) in _ZIP_MAGIC
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        if is_zip:
            yield _list_documents(path, opened.enter_context(_open_zip(path, file)), report)
        else:
            yield Export(path.name, (Document(path.name, lambda: CountedStream(path.name, file, report)),), size)


class CountedStream(io.RawIOBase):
    """The bytes of one document, each counted before it is passed on; a fault of the container gets its name.

    Closing it leaves the source open: whoever opened that closes it.
    """

    def __init__(self, name: str, source: IO[bytes], count: Progress) -> None:
        """Read ``source`` from where it stands; ``count`` may raise to refuse the bytes just read."""
        self._name = name
        self._source = source
        self._count = count

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
        raise UnreadableExport(f"{path} is a folder. Name the export's .zip, .json or .jsonl file instead.") from None
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "that is no usable path"
        raise UnreadableExport(f"{path} can't be opened: {reason}.") from None


def _pipe(name: str, pipe: IO[bytes], report: Progress) -> Export:
    if isinstance(pipe, io.BufferedReader) and pipe.peek(4)[:4] in _ZIP_MAGIC:
        raise UnreadableExport(f"{name} is a zip, which can't be read from a pipe. Name the file instead.")
    return Export(name, (Document(name, lambda: CountedStream(name, pipe, report)),), None)


def _open_zip(path: Path, file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except Exception as error:  # a mangled table of contents makes zipfile raise a dozen unrelated classes
        raise UnreadableExport(
            f"{path} begins like a zip but has no readable table of contents ({type(error).__name__}): it is cut short "
            "or damaged. Download or export it again."
        ) from None


def _list_documents(path: Path, archive: zipfile.ZipFile, report: Progress) -> Export:
    entries = archive.infolist()
    chosen = _choose(entries)
    if not chosen:
        raise UnknownExportFormat(
            f"{path} is a zip of {len(entries):,} entries, but none of them is conversations.json, "
            "conversations-000.json or the like, or another .json or .jsonl file that can hold conversations."
        )
    declared = 0
    for entry in chosen:
        declared += entry.file_size
        _refuse_bomb(entry, entry.file_size, declared)
    unpacking = _Unpacking(report)
    documents = tuple(Document(_shown(entry), partial(_open_entry, archive, entry, unpacking)) for entry in chosen)
    return Export(path.name, documents, declared)


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
        return CountedStream(name, archive.open(entry), unpacking.follow(entry))
    except Exception as error:  # as above: whatever zipfile makes of a mangled entry
        raise UnreadableExport(
            f"{name} can't be unpacked ({type(error).__name__}): its zip is damaged. Download or export it again."
        ) from None


def _choose(entries: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Return the shards of a product's export in their order; failing those, whatever else can hold conversations."""
    files = [(_parts(entry), entry) for entry in entries if not entry.is_dir()]
    seen = [(parts, entry) for parts, entry in files if parts and not any(map(_is_sidecar, parts))]
    shards = [
        (parts[:-1], int(shard[1] or -1), entry) for parts, entry in seen if (shard := _SHARD.fullmatch(parts[-1]))
    ]
    if shards:
        return [entry for *_, entry in sorted(shards, key=lambda shard: shard[:2])]
    others = [one for one in seen if _OTHER_DATA.fullmatch(one[0][-1]) and one[0][-1] not in _NO_CONVERSATIONS]
    return [entry for _, entry in sorted(others, key=lambda one: one[0])]


def _parts(entry: zipfile.ZipInfo) -> tuple[str, ...]:
    return PurePosixPath(entry.filename.replace("\\", "/").lower()).parts


def _is_sidecar(part: str) -> bool:
    return part == "__macosx" or (part.startswith(".") and part not in (".", ".."))


def _shown(entry: zipfile.ZipInfo) -> str:
    """Return the entry's name as a message may show it: its last part, printable, not long."""
    last = (_parts(entry) or ("",))[-1]
    return "".join(letter if letter.isprintable() else "?" for letter in last)[:80] or "an entry without a name"
