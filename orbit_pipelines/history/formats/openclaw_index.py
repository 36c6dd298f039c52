"""The list that OpenClaw keeps beside its transcripts: under which key each session runs, and in what kind of chat.

Only the gateway's key tells that a session is a scheduled job's or a group's; many transcripts don't repeat it.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from orbit_pipelines.errors import ImportFailed
from orbit_pipelines.history.formats.content import as_object, as_word
from orbit_pipelines.history.formats.openclaw_origin import CHAT, SHARED, Origin, chat_type_of, origin_of_key
from orbit_pipelines.history.reading import SESSION_INDEX, Document, Export
from orbit_pipelines.history.rows import read_document
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.history.text import usable_id

Origins = Mapping[str, Origin]
"""Where sessions come from, by the session's id."""


def read_index(export: Export, problems: Problems) -> Origins:
    """Read what lies beside an export's transcripts; a list that can't be read is reported and done without."""
    origins: dict[str, Origin] = {}
    for document in export.companions:
        if document.name.lower() != SESSION_INDEX:
            continue
        # A folder's transcripts are imported one by one, and all have the same list.
        found, fault = _read_known(document) if document.version else _read(document)
        if fault is not None:
            problems.add("broken_list", document.name, fault)
        for session_id, origin in found.items():
            origins[session_id] = _less_trusted(origins.get(session_id), origin)
    return origins


def _read(document: Document) -> tuple[Origins, str | None]:
    origins: dict[str, Origin] = {}
    try:
        values = [row.value for row in read_document(Export(document.name, (document,), None), 0, Problems())]
    except ImportFailed as error:
        return origins, str(error)
    for value in values:
        for key, entry in as_object(value).items():
            session_id = usable_id(as_object(entry).get("sessionId"))
            if session_id is not None:
                origin = _origin(key, as_object(entry))
                origins[session_id] = _less_trusted(origins.get(session_id), origin)
    return origins, None


_read_known = lru_cache(maxsize=1)(_read)


def _origin(key: str, entry: Mapping[str, object]) -> Origin:
    route = as_object(entry.get("origin"))
    origin = origin_of_key(key) or Origin(session_kind="subagent" if as_word(entry.get("spawnedBy")) else CHAT)
    chat_type = chat_type_of(entry.get("chatType")) or chat_type_of(route.get("chatType"))
    is_shared = chat_type in SHARED or any(usable_id(entry.get(name)) for name in ("groupId", "groupChannel"))
    channels = (usable_id(holder.get(name)) for holder, name in ((entry, "channel"), (route, "provider")))
    return replace(
        origin,
        chat_type=(chat_type if chat_type in SHARED else "group") if is_shared else origin.chat_type or chat_type,
        channel=origin.channel or next(filter(None, channels), None),
    )


def _less_trusted(one: Origin | None, other: Origin) -> Origin:
    """Return the origin that trusts less, of two that are told of one session."""
    if one is None or (one.session_kind == CHAT and other.session_kind != CHAT):
        return other
    return other if one.session_kind == other.session_kind and other.chat_type in SHARED else one
