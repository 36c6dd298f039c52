"""An import of a large ChatGPT export: made, imported in a process of its own, and imported again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from orbit_pipelines.bench.corpus import PAIRS_PER_SESSION, QUESTION_CHARACTERS, REPLY_CHARACTERS, texts
from orbit_pipelines.bench.measurements import ImportMeasured
from orbit_pipelines.bench.measuring import Announce
from orbit_pipelines.bench.own_process import run_module
from orbit_pipelines.bench.places import Place, bench_database

MESSAGES_PER_CONVERSATION = 2 * PAIRS_PER_SESSION
_CONVERSATIONS_AT_A_TIME = 500
_FIRST_TIME = 1_700_000_000


def measure_import(place: Place, messages: int, announce: Announce = lambda _what: None) -> ImportMeasured:
    """Measure the import of an export of at least so many messages, in whole conversations."""
    conversations = -(-messages // MESSAGES_PER_CONVERSATION)
    file = place.folder / "conversations.json"
    announce(f"{messages:,} messages: writing the export")
    write_export(file, conversations)
    with bench_database(place) as settings:
        announce(f"{messages:,} messages: importing, twice")
        took = run_module("orbit_pipelines.bench.measured_import", settings, str(file))
    return ImportMeasured(
        messages=conversations * MESSAGES_PER_CONVERSATION,
        sessions=conversations,
        file_bytes=file.stat().st_size,
        **took,
    )


def write_export(file: Path, conversations: int) -> None:
    """Write the conversations of a ChatGPT export, of the corpus' kind and lengths."""
    with file.open("w", encoding="utf-8") as export:
        for number, conversation in enumerate(_conversations(conversations)):
            export.write("[" if number == 0 else ",\n")
            json.dump(conversation, export)
        export.write("]")


def _conversations(count: int) -> Iterator[dict[str, Any]]:
    for first in range(0, count, _CONVERSATIONS_AT_A_TIME):
        numbers = np.arange(first, min(first + _CONVERSATIONS_AT_A_TIME, count))
        pairs = np.arange(numbers[0] * PAIRS_PER_SESSION, (numbers[-1] + 1) * PAIRS_PER_SESSION)
        questions, replies = texts(pairs, QUESTION_CHARACTERS, 7), texts(pairs, REPLY_CHARACTERS, 8)
        for number, start in zip(numbers.tolist(), range(0, len(pairs), PAIRS_PER_SESSION), strict=True):
            turns = slice(start, start + PAIRS_PER_SESSION)
            yield _conversation(f"conversation-{number:06d}", list(zip(questions[turns], replies[turns], strict=True)))


def _conversation(key: str, turns: list[tuple[str, str]]) -> dict[str, Any]:
    said = [(role, text) for question, reply in turns for role, text in (("user", question), ("assistant", reply))]
    nodes = [f"{key}-{number}" for number in range(len(said) + 1)]
    mapping: dict[str, Any] = {nodes[0]: {"id": nodes[0], "message": None, "parent": None, "children": nodes[1:2]}}
    for number, (role, text) in enumerate(said, 1):
        mapping[nodes[number]] = {
            "id": nodes[number],
            "message": {
                "id": nodes[number],
                "author": {"role": role, "name": None, "metadata": {}},
                "create_time": _FIRST_TIME + number,
                "content": {"content_type": "text", "parts": [text]},
                "status": "finished_successfully",
                "end_turn": role == "assistant",
                "weight": 1.0,
                "metadata": {},
                "recipient": "all",
            },
            "parent": nodes[number - 1],
            "children": nodes[number + 1 : number + 2],
        }
    return {
        "id": key,
        "conversation_id": key,
        "title": key,
        "create_time": _FIRST_TIME,
        "update_time": _FIRST_TIME + len(said),
        "mapping": mapping,
        "current_node": nodes[-1],
    }
