"""Mutated folders, zips and Parquet: sessions or an error of this project; a file is stored whole or not at all."""

import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orbit_pipelines.database.connection import connect
from orbit_pipelines.errors import ImportFailed
from orbit_pipelines.history.files import import_file
from orbit_pipelines.history.formats.registry import AUTO, FORMATS, read_sessions
from orbit_pipelines.history.formats.slack_workspace import Speakers
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.history.text import clean_text
from orbit_pipelines.model import Store

EXPORTS = Path(__file__).parents[2] / "fixtures" / "exports"
SPEAKERS = Speakers("B1", "U1")
SEEDS = st.integers(0, 2**32)
FORMAT_NAMES = st.sampled_from([AUTO, "slack", *FORMATS])
PEOPLE = count()

THREAD = "1704103200.000100"
WORKSPACE: dict[str, Any] = {
    "users.json": [{"id": "U1", "name": "ana", "profile": {"bot_id": None}}, {"id": "U9", "profile": {"bot_id": "B1"}}],
    "channels.json": [{"id": "C1", "name": "kitchen", "members": ["U1", "U2"]}],
    "dms.json": [{"id": "D1", "members": ["U1", "U9"]}],
    "kitchen/2024-01-01.json": [
        {"type": "message", "user": "U1", "ts": THREAD, "text": "<@U9> eggs?", "thread_ts": THREAD},
        {"type": "message", "bot_id": "B1", "ts": "1704103201.000100", "text": "Ten.", "thread_ts": THREAD},
        {"type": "message", "subtype": "channel_join", "user": "U2", "ts": "1704103202.000100", "text": "joined"},
    ],
    "kitchen/2024-01-02.json": [
        {"type": "message", "user": "U2", "ts": "1704189600.000100", "text": "Ice?", "thread_ts": THREAD},
        {"type": "message", "bot_id": "B1", "ts": "1704189601.000100", "text": "", "attachments": [{"text": "Cold."}]},
    ],
    "D1/2024-01-01.json": [
        {"type": "message", "user": "U1", "ts": "1704103300.000100", "text": "a &amp; b <http://c|d>"},
        {"type": "message", "user": "U9", "ts": "1704103301.000100", "text": "Noted."},
    ],
}  # fmt: skip
ROWS = [json.loads(line) for line in (EXPORTS / "dataset_traits.jsonl").read_text().splitlines()][:2]


def zipped(files: dict[str, Any]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # Without the time of day in it a seed always means the same bytes.
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content if isinstance(content, bytes | str) else json.dumps(content))
    return packed.getvalue()


def parquet() -> bytes:
    packed = io.BytesIO()
    pl.DataFrame(ROWS).write_parquet(packed, row_group_size=1)
    return packed.getvalue()


CONTAINERS = {
    "workspace": zipped(WORKSPACE),
    "parquet": parquet(),
    "parquet in a zip": zipped({"data/train.parquet": parquet(), "more.jsonl": json.dumps(ROWS[1])}),
    "many formats in a zip": zipped({path.name: path.read_bytes() for path in sorted(EXPORTS.iterdir())}),
}


def mutate(content: bytes, seed: int) -> bytes:
    chance = random.Random(seed)
    mutated = bytearray(content)
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(mutated))
        match chance.randrange(4):
            case 0:
                mutated[at] = chance.randrange(256)
            case 1:
                del mutated[at : at + chance.randint(1, 60)]
            case 2:
                mutated[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 20)))
            case _:
                mutated[at:at] = mutated[at : at + chance.randint(1, 200)]
        mutated = mutated or bytearray(b" ")
    return bytes(mutated)


def check(path: Path, format_name: str = AUTO) -> None:
    with suppress(ImportFailed), open_export(path) as export:
        for session in read_sessions(export, Problems(), format_name=format_name, speakers=SPEAKERS):
            ids = [message.message_id for message in session.messages if message.message_id is not None]
            assert len(ids) == len(set(ids))
            for text in (session.session_id, session.title, session.channel, *session.participants, *ids):
                assert text is None or clean_text(text) == (text, False)
            for message in session.messages:
                assert clean_text(message.content) == (message.content, False)


@pytest.mark.parametrize("container", CONTAINERS)
@given(seed=SEEDS, format_name=FORMAT_NAMES)
@settings(max_examples=100, deadline=None)
def test_mutated_bytes(container: str, seed: int, format_name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        path.write_bytes(mutate(CONTAINERS[container], seed))
        check(path, format_name)


strange = st.one_of(
    st.none(),
    st.integers(),
    st.text(st.characters(codec=None), max_size=6),
    st.sampled_from(
        ["U1", "B1", "1704103200.000100", "1704103200.0001", "\0", "bot_message", "<@U1>", "<>", "<|>", "<!"]
    ),
    st.lists(st.none(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
)


@given(data=st.data(), as_folder=st.booleans())
@settings(max_examples=150, deadline=None)
def test_mutated_workspaces(data: st.DataObject, as_folder: bool) -> None:
    files = json.loads(json.dumps(WORKSPACE))
    for _ in range(data.draw(st.integers(1, 5))):
        name = data.draw(st.sampled_from(sorted(files)))
        entries = files[name]
        if not isinstance(entries, list) or not entries:
            continue
        entry = data.draw(st.sampled_from(entries))
        for _ in range(data.draw(st.integers(1, 3)) if isinstance(entry, dict) and entry else 0):
            entry[data.draw(st.sampled_from(sorted(entry)))] = data.draw(strange)
        if data.draw(st.booleans()):
            entries[data.draw(st.integers(0, len(entries) - 1))] = data.draw(strange)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        if as_folder:
            for name, content in files.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(json.dumps(content).encode())
        else:
            path.write_bytes(zipped(files))
        check(path)


@pytest.fixture(scope="module")
def conn(new_database: Callable[[], str]) -> Iterator[psycopg.Connection[Any]]:
    """One database for all examples; each has a person of its own."""
    with connect(new_database(), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("container", CONTAINERS)
@given(seed=SEEDS)
@example(seed=660)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mutated_file_is_stored_whole_or_not_at_all(container: str, seed: int, conn: psycopg.Connection[Any]) -> None:
    user = f"person {next(PEOPLE)}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        path.write_bytes(mutate(CONTAINERS[container], seed))
        stored = 0
        with suppress(ImportFailed):
            result = import_file(
                conn, Store(user), path, hash_key=b"k" * 32, problems=Problems(), creates_account=True,
                batch_messages=2, speakers=SPEAKERS,
            )  # fmt: skip
            stored = result.messages_new
        found = conn.execute(
            "select count(*), (select count(*) from orbitpilot.account where user_id = %(user)s)"
            " from orbitpilot.message where user_id = %(user)s",
            {"user": user},
        ).fetchone()
        assert found == (stored, int(stored > 0))
