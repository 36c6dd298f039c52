"""Exports mutated in structure and in bytes: reading them gives sessions or an error of this project, nothing else."""

import io
import json
import random
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbit_pipelines.errors import ImportFailed
from orbit_pipelines.history.formats.registry import AUTO, FORMATS, read_sessions
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession, Problems
from orbit_pipelines.history.text import clean_text

EXPORTS = Path(__file__).parents[2] / "fixtures" / "exports"
FILES = sorted(path for path in EXPORTS.iterdir() if path.suffix in (".json", ".jsonl"))
CHATGPT = json.loads((EXPORTS / "chatgpt_traits.json").read_bytes())


def rows_of(path: Path) -> list[Any]:
    if path.suffix == ".json":
        rows: list[Any] = json.loads(path.read_bytes())
        return rows
    lines = path.read_text("utf-8-sig").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def conversations_of(path: Path) -> Iterator[list[Any]]:
    """The rows that belong together: one of most formats, all that follow the header of a transcript."""
    conversation: list[Any] = []
    for row in rows_of(path):
        is_entry = isinstance(row, dict) and "type" in row
        if conversation and not (is_entry and row["type"] != "session"):
            yield conversation
            conversation = []
        conversation.append(row)
    yield conversation


CONVERSATIONS = [conversation for path in FILES for conversation in conversations_of(path)]

strange = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**30),
    st.floats(),
    st.text(st.characters(codec=None), max_size=8),
    st.sampled_from(["all", "user", "assistant", "text", "message", "human", "\0", "x" * 3000]),
    st.lists(st.none() | st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=4), st.none() | st.integers(), max_size=3),
)
format_names = st.sampled_from([AUTO, *FORMATS])


def check_export(content: bytes, format_name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        path.write_bytes(content)
        problems = Problems()
        with suppress(ImportFailed), open_export(path) as export:
            for session in read_sessions(export, problems, format_name=format_name):
                check_session(session)


def check_session(session: ParsedSession) -> None:
    ids = [message.message_id for message in session.messages if message.message_id is not None]
    assert len(ids) == len(set(ids))
    assert not session.left_behind & set(ids)
    assert session.messages or session.left_behind
    for text in (session.session_id, session.title, *session.left_behind):
        assert text is None or clean_text(text) == (text, False)
    before: ParsedMessage | None = None
    for message in session.messages:
        assert message.role == "user" or message.content.strip()
        assert clean_text(message.content) == (message.content, False)
        assert message.parent_id == (before and before.message_id)
        before = message


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in ``value`` with each of its keys or indexes."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from places(value[key])


@st.composite
def mutated_structures(draw: st.DrawFn) -> list[Any]:
    """A few conversations of the fixtures in which some values are replaced, removed, renamed or swapped."""
    drawn = draw(st.lists(st.sampled_from(CONVERSATIONS), min_size=1, max_size=3))
    conversations: list[Any] = json.loads(json.dumps([row for rows in drawn for row in rows]))
    for _ in range(draw(st.integers(1, 4))):
        container, key = draw(st.sampled_from(list(places(conversations)) or [(conversations, 0)]))
        match draw(st.sampled_from(["replace", "remove", "rename", "swap"])):
            case "remove" if container:
                del container[key]
            case "rename" if isinstance(container, dict):
                container[draw(st.text(st.characters(codec=None), max_size=5))] = container.pop(key)
            case "swap" if container:
                other, other_key = draw(st.sampled_from(list(places(conversations))))
                container[key], other[other_key] = draw(strange), container[key]
            case _ if container:
                container[key] = draw(strange)
    return conversations


@given(mutated_structures(), format_names, st.booleans())
@settings(max_examples=400, deadline=None)
def test_mutated_structures(conversations: list[Any], format_name: str, as_lines: bool) -> None:
    try:
        text = "\n".join(map(json.dumps, conversations)) if as_lines else json.dumps(conversations)
    except ValueError:
        return  # a swap put a value into itself
    check_export(text.encode("utf-8", "surrogatepass"), format_name)


def zipped() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export/conversations-000.json", json.dumps(CHATGPT[:3]))
        archive.writestr("export/conversations-001.json", json.dumps(CHATGPT[3:]))
        archive.writestr("export/user.json", "{}")
    return packed.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        *(path.read_bytes() for path in FILES),
        json.dumps(CHATGPT, indent=1).encode("utf-16"),
        zipped(),
    ],
    ids=[*(path.stem for path in FILES), "utf-16", "zip"],
)
@given(seed=st.integers(0, 2**32), format_name=format_names)
@settings(max_examples=100, deadline=None)
def test_mutated_bytes(content: bytes, seed: int, format_name: str) -> None:
    chance = random.Random(seed)
    mutated = bytearray(content)
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(mutated))
        match chance.randrange(5):
            case 0:
                mutated[at] = chance.randrange(256)
            case 1:
                del mutated[at : at + chance.randint(1, 200)]
            case 2:
                mutated[at:at] = chance.choice(
                    [b"\0", b'"', b"[" * 2000, b"\xff\xfe", b"\\u", b"9" * 6000, b"{", b"\n"]
                )
            case 3:
                mutated[at:at] = mutated[at : at + chance.randint(1, 400)]
            case _:
                del mutated[max(at, 1) :]
        mutated = mutated or bytearray(b" ")
    check_export(bytes(mutated), format_name)
