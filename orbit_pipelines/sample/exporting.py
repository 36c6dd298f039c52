"""The sample's export files, made from its transcripts: ``python -m orbit_pipelines.sample.exporting``.

The files are kept beside the transcripts, because they are what a person would have: run this after changing one.
"""

import json
import zipfile
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from orbit_pipelines.sample.transcripts import Transcript, Turn, read_transcripts

FOLDER = Path(__file__).parent
ROOT_NODE = "client-created-root"
SHARD = 8
_NAMESPACE = UUID("6d5f6f0e-8a4b-4c1d-9b57-0f3c1c2a7e11")
_PACKED_AT = (2026, 9, 14, 7, 0, 0)

Json = dict[str, Any]


def write_exports(folder: Path = FOLDER) -> None:
    """Write both export files: a zip in shards with what else is in one, and a bare conversations file."""
    mara = [export_conversation(transcript) for transcript in read_transcripts(FOLDER / "conversations" / "mara")]
    with zipfile.ZipFile(folder / "mara.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        _add(packed, "user.json", {"id": "user-mara", "email": "mara@example.org"})
        for number, first in enumerate(range(0, len(mara), SHARD)):
            _add(packed, f"conversations-{number:03}.json", mara[first : first + SHARD])
    household = [
        export_conversation(transcript) for transcript in read_transcripts(FOLDER / "conversations" / "household")
    ]
    (folder / "household.json").write_text(json.dumps(household, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _add(packed: zipfile.ZipFile, name: str, content: Any) -> None:
    entry = zipfile.ZipInfo(name, _PACKED_AT)
    packed.writestr(entry, json.dumps(content), zipfile.ZIP_DEFLATED)


def node_id(key: str, label: str) -> str:
    """Return the id of a labelled turn of a transcript."""
    return str(uuid5(_NAMESPACE, f"{key}/{label}"))


def session_id(key: str) -> str:
    """Return the id of a transcript's conversation."""
    return str(uuid5(_NAMESPACE, key))


def export_conversation(transcript: Transcript) -> Json:
    """Return one conversation in the ChatGPT shape: a tree of nodes, and which leaf was in view."""
    mapping: Json = {ROOT_NODE: {"id": ROOT_NODE, "message": None, "parent": None, "children": []}}
    parents: dict[str, str] = {}
    current = ROOT_NODE
    for turn in transcript.turns:
        node = node_id(transcript.key, turn.label)
        parent = parents[turn.replaces] if turn.replaces else current
        parents[turn.label] = parent
        mapping[parent]["children"].append(node)
        mapping[node] = {
            "id": node,
            "message": _message(node, turn, transcript.model),
            "parent": parent,
            "children": [],
        }
        current = node
    times = [turn.sent_at.timestamp() for turn in transcript.turns if turn.sent_at]
    return {
        "id": session_id(transcript.key),
        "conversation_id": session_id(transcript.key),
        "title": transcript.title,
        "create_time": transcript.started_at and transcript.started_at.timestamp(),
        "update_time": times[-1] if times else None,
        "mapping": mapping,
        "current_node": current,
        "default_model_slug": transcript.model,
        "is_archived": False,
        "is_do_not_remember": transcript.is_do_not_remember,
        "memory_scope": "global_enabled",
    }


def _message(node: str, turn: Turn, model: str) -> Json:
    metadata: Json = {"model_slug": model} if turn.role == "assistant" else {}
    if turn.is_hidden:
        metadata["is_visually_hidden_from_conversation"] = True
    if turn.content_type == "user_editable_context":
        metadata["is_user_system_message"] = True
    if turn.is_interrupted:
        metadata["finish_details"] = {"type": "interrupted"}
    return {
        "id": node,
        "author": {"role": turn.role, "name": turn.name, "metadata": {}},
        "create_time": turn.sent_at and round(turn.sent_at.timestamp(), 3),
        "update_time": None,
        "content": _content(node, turn),
        "status": "in_progress" if turn.is_interrupted else "finished_successfully",
        "end_turn": turn.recipient == "all" if turn.role == "assistant" else None,
        "weight": 0.0 if turn.is_hidden else 1.0,
        "metadata": metadata,
        "recipient": turn.recipient,
        "channel": None,
    }


def _content(node: str, turn: Turn) -> Json:
    content: Json = {"content_type": turn.content_type}
    match turn.content_type:
        case "text":
            return content | {"parts": [turn.text]}
        case "multimodal_text":
            return content | {"parts": _parts(node, turn)}
        case "code":
            return content | {"language": "unknown", "text": turn.text}
        case "execution_output" | "sonic_webpage":
            return content | {"text": turn.text}
        case "thoughts":
            summary, _, thought = turn.text.partition("\n")
            return content | {"thoughts": [{"summary": summary, "content": thought}]}
        case "reasoning_recap":
            return content | {"content": turn.text}
        case "tether_browsing_display":
            summary, _, result = turn.text.partition("\n")
            return content | {"summary": summary, "result": result}
        case "user_editable_context":
            profile, _, instructions = turn.text.partition("\n\n")
            return content | {"user_profile": profile, "user_instructions": instructions}
        case "model_editable_context":
            return content | {"model_set_context": turn.text}
        case unknown:
            raise ValueError(f"{node}: no such content type: {unknown}")


def _parts(node: str, turn: Turn) -> list[Json | str]:
    if turn.is_voice:
        pointer = "real_time_user_audio_video_asset_pointer" if turn.role == "user" else "audio_asset_pointer"
        return [
            {
                "content_type": "audio_transcription",
                "text": turn.text,
                "direction": "in" if turn.role == "user" else "out",
            },
            {"content_type": pointer, "asset_pointer": f"sediment://{node}"},
        ]
    images: list[Json | str] = [
        {"content_type": "image_asset_pointer", "asset_pointer": f"file-service://{node}-{number}", "width": 1024}
        for number in range(turn.images)
    ]
    return [*images, turn.text]


if __name__ == "__main__":
    write_exports()
