import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SIZE = 60_000_000
WORDS = "what was said in a conversation that nobody will read again, but that takes its place, " * 8

# In a process of its own, whose memory nothing else has grown.
READ = """
import json, sys
import psutil
from orbit_pipelines.history.formats.registry import read_sessions
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.stream import Problems

process, problems, messages = psutil.Process(), Problems(), 0
before = most = process.memory_info().rss
with open_export(sys.argv[1]) as export:
    for number, session in enumerate(read_sessions(export, problems)):
        messages += len(session.messages)
        if number % 50 == 0:
            most = max(most, process.memory_info().rss)
print(json.dumps({"messages": messages, "problems": problems.counts, "grown": most - before}))
"""


def pieces(*, as_lines: bool) -> Iterator[bytes]:
    """The text of an export of at least ``SIZE`` bytes, a conversation at a time."""
    written = 0
    number = 0
    yield b"" if as_lines else b"["
    while written < SIZE:
        conversation = write_messages(number) if as_lines else write_tree(number)
        separator = "\n" if as_lines else "," if number else ""
        piece = (separator + json.dumps(conversation)).encode()
        written += len(piece)
        number += 1
        yield piece
    yield b"\n" if as_lines else b"]"


def write_tree(number: int) -> dict[str, Any]:
    mapping: dict[str, Any] = {
        f"{number}-{turn}": {
            "parent": f"{number}-{turn - 1}" if turn else None,
            "children": [],
            "message": {
                "id": f"{number}-{turn}",
                "author": {"role": "assistant" if turn % 2 else "user"},
                "create_time": 1718000000.25 + turn,
                "content": {"content_type": "text", "parts": [WORDS]},
            },
        }
        for turn in range(40)
    }
    return {"id": str(number), "title": WORDS[:20], "current_node": f"{number}-39", "mapping": mapping}


def write_messages(number: int) -> dict[str, Any]:
    return {
        "id": str(number),
        "messages": [{"role": "user", "content": WORDS}, {"role": "assistant", "content": WORDS}],
    }


@pytest.mark.parametrize("kind", ["lines", "zip"])
def test_a_large_export_passes_through_little_memory(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "export"
    if kind == "zip":
        # Stored, since words that repeat pack like a bomb.
        with zipfile.ZipFile(path, "w") as archive, archive.open("conversations.json", "w") as entry:
            entry.writelines(pieces(as_lines=False))
    else:
        with path.open("wb") as file:
            file.writelines(pieces(as_lines=True))
    command = [sys.executable, "-c", READ, str(path)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seen = json.loads(child.stdout)
    assert seen["messages"] > 50_000
    assert seen["problems"] == {}
    assert seen["grown"] < 30_000_000


def entries() -> Iterator[bytes]:
    """The lines of one transcript of at least ``SIZE`` bytes, nearly all of them what its tools returned."""
    yield b'{"type": "session", "version": 3, "id": "s", "cwd": "/"}\n'
    for number in range(0, SIZE, 20_000):
        parent = None if number == 0 else f"a{number - 20_000}"
        yield (json.dumps(write_entry(f"u{number}", parent, "user", WORDS[:50])) + "\n").encode()
        yield (json.dumps(write_entry(f"r{number}", f"u{number}", "toolResult", "r" * 20_000)) + "\n").encode()
        yield (json.dumps(write_entry(f"a{number}", f"r{number}", "assistant", WORDS[:50])) + "\n").encode()


def write_entry(identifier: str, parent: str | None, role: str, text: str) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"type": "message", "id": identifier, "parentId": parent, "message": message}


def test_a_long_transcript_takes_no_more_memory_than_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "transcript"
    with path.open("wb") as file:
        file.writelines(entries())
    command = [sys.executable, "-c", READ, str(path)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seen = json.loads(child.stdout)
    assert seen["messages"] == 2 * SIZE / 20_000
    assert seen["problems"] == {}
    assert seen["grown"] < 30_000_000
