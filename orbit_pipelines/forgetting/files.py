"""Files that hold what was remembered: whole lines with an exact text of a selected session go, all other bytes stay.

Agents and people write the same files without a lock of ours. So a file is replaced only while it has the content that
was read; one that changed meanwhile is read and planned anew.
"""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from orbit_pipelines.errors import OrbitError
from orbit_pipelines.forgetting.kinds import Absence, Depth, Scene, Stage, Touched, TouchedLine
from orbit_pipelines.forgetting.snippets import find_elsewhere

ATTEMPTS = 20
"""How often a file that keeps changing is planned anew before its forget fails."""

_LINES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")


class FileKeepsChanging(OrbitError):
    """Somebody writes a file all the time; pause them, and run the same command again."""


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """A line, counted from 1, and one of the snippets it holds."""

    number: int
    text: str
    snippet: str


def split_lines(content: bytes) -> list[bytes]:
    """Return the lines of a file with their ends as they are; joined again they are the file. Pure."""
    return _LINES.findall(content)


def match_lines(content: bytes, snippets: Iterable[str]) -> list[MatchedLine]:
    """Return the lines that hold a snippet, in order, each with its longest. Pure.

    Bytes are compared, so that a file that isn't all UTF-8 is no obstacle.
    """
    wanted = sorted({snippet.encode() for snippet in snippets}, key=len, reverse=True)
    matched = []
    for number, line in enumerate(split_lines(content), 1):
        snippet = next((each for each in wanted if each in line), None)
        if snippet is not None:
            text = line.rstrip(b"\r\n").decode(errors="replace")
            matched.append(MatchedLine(number, text, snippet.decode()))
    return matched


def without_lines(content: bytes, numbers: Iterable[int]) -> bytes:
    """Return the content without some of its lines, counted from 1. Pure."""
    gone = set(numbers)
    return b"".join(line for number, line in enumerate(split_lines(content), 1) if number not in gone)


def replace_if_unchanged(path: Path, expected: bytes, fresh: bytes) -> bool:
    """Put a new content in a file's place at once, if the file has the expected one; return whether it did.

    Mode and owner stay. The moment between the last look and the replacement is as short as can be made, not nothing.
    """
    status = path.stat()
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as draft:
        try:
            draft.write(fresh)
            draft.flush()
            os.fsync(draft.fileno())
            os.fchmod(draft.fileno(), stat.S_IMODE(status.st_mode))
            if os.geteuid() == 0:
                os.fchown(draft.fileno(), status.st_uid, status.st_gid)
            if path.read_bytes() != expected:
                return False
            os.replace(draft.name, path)
            _sync_folder(path.parent)
            return True
        finally:
            Path(draft.name).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class LinesOfFiles:
    """Lines of memory files and journals: every one that holds a snippet goes, those written by hand too.

    ``find_files`` returns the files of the selection's stores. A symbolic link, and what is no regular file, is
    refused: it may lead out of the store.
    """

    name: str
    find_files: Callable[[Scene], Iterable[Path]]
    folders: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    stage: Stage = Stage.FILES

    def touched(self, scene: Scene) -> Touched:
        """Return the lines that would go, as they are, and which also stand in sessions that aren't selected."""
        lines: list[TouchedLine] = []
        refused: list[str] = []
        fingerprint = hashlib.sha256()
        for path in sorted(self.find_files(scene)):
            if _is_refused(path):
                refused.append(f"{path}: no regular file")
                continue
            content = path.read_bytes()
            matched = match_lines(content, scene.snippets())
            if matched:
                fingerprint.update(content)
                elsewhere = find_elsewhere(scene.connection, scene.selection, {line.snippet for line in matched})
                lines += [TouchedLine(str(path), line.number, line.text, line.snippet in elsewhere) for line in matched]
        return Touched(
            len(lines),
            tuple(f"{line.file}:{line.line}" for line in lines),
            fingerprint=fingerprint.hexdigest() if lines else "",
            lines=tuple(lines),
            refused=tuple(refused),
        )

    def purge(self, scene: Scene) -> Touched:
        """Take the lines out of each file.

        Raises:
            FileKeepsChanging: a file changed each time before it could be replaced.
        """
        ids = []
        for path in sorted(self.find_files(scene)):
            if not _is_refused(path):
                ids += [f"{path}:{line.number}" for line in _purge_file(path, scene.snippets())]
        return Touched(len(ids), tuple(ids))

    def verify(self, scene: Scene) -> Absence:
        """Read the files again."""
        found = sum(
            len(match_lines(path.read_bytes(), scene.snippets()))
            for path in self.find_files(scene)
            if not _is_refused(path)
        )
        return Absence(found, Depth.ROWS_DELETED)


def _purge_file(path: Path, snippets: frozenset[str]) -> list[MatchedLine]:
    for _ in range(ATTEMPTS):
        content = path.read_bytes()
        matched = match_lines(content, snippets)
        if not matched or replace_if_unchanged(
            path, content, without_lines(content, (line.number for line in matched))
        ):
            return matched
    raise FileKeepsChanging(
        f"{path} changed {ATTEMPTS} times while lines were to be taken out of it; pause its writers"
    )


def _is_refused(path: Path) -> bool:
    return path.is_symlink() or not path.is_file()
