"""Files: the bytes of whatever lies in the home folder, but for the server's own and for what has a road of its own."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from orbit_pipelines.forgetting.roads.sight import Look, Sight, look, spellings, texts_with

ELSEWHERE = ("postgres", "workspaces")
"""Folders of the home folder that other roads lead to; the server's log is looked at all the same."""

_BLOCK = 4_000_000


def look_at_files(sight: Sight) -> Look:
    """Look for exact snippets in the bytes of every file."""
    home = sight.settings.home
    needles = as_bytes(spellings(sight.traces.needles))
    found, looked_at = [], 0
    unreadable: list[str] = []
    for path in _files(home):
        try:
            has_text = _has_text(path, needles)
        except FileNotFoundError:  # gone meanwhile
            continue
        except OSError:
            unreadable.append(str(path.relative_to(home)))
            continue
        looked_at += 1
        if has_text:
            found.append(str(path.relative_to(home)))
    return look(found, looked_at, f"could not be read: {', '.join(unreadable)}" if unreadable else None)


def _files(home: Path) -> list[Path]:
    everything = home.rglob("*") if home.is_dir() else ()
    files = [path for path in everything if _is_own(path) and path.relative_to(home).parts[0] not in ELSEWHERE]
    log = home / "postgres" / "log"
    return sorted([*files, *([log] if log.is_file() else [])])


def _is_own(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def is_held(path: Path, needles: list[str]) -> bool:
    """Whether a file's bytes hold any of the needles, as ``as_bytes`` returns them; False where it can't be read."""
    try:
        return _has_text(path, needles)
    except OSError:
        return False


def _has_text(path: Path, needles: list[str]) -> bool:
    return bool(needles) and any(_holds(block, needles) for block in _blocks(path, needles))


def as_bytes(needles: list[str]) -> list[str]:
    """Return needles in UTF-8, one character a byte, so that a file of any encoding is text."""
    return [needle.encode().decode("latin-1") for needle in needles]


def _blocks(path: Path, needles: list[str]) -> Iterator[str]:
    overlap = max(map(len, needles)) - 1
    kept = b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield (kept + block).decode("latin-1")
            kept = (kept + block)[-overlap:] if overlap else b""


def _holds(block: str, needles: list[str]) -> bool:
    return bool(texts_with(pl.Series([block], dtype=pl.String), needles)[0])
