"""What the JSON of every chat format shares: values that may be of any type, and text that comes in parts."""

import re
from collections.abc import Iterable

from orbit_pipelines.history.stream import Role

_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_REASONING = re.compile(r"\s*(?:<think>.*?(?:</think>|\Z)|:::thinking\b.*?(?:\n:::[^\S\n]*(?:\n|\Z)|\Z))\s*", re.DOTALL)
_NO_TURNS = frozenset({"developer", "function", "system", "tool"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}


def as_object(value: object) -> dict[str, object]:
    """Return a JSON object as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return a JSON list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_word(value: object) -> str | None:
    """Return a JSON string as it is, and None for anything else, so that it can be looked up in a set."""
    return value if isinstance(value, str) else None


def turn_role(value: object) -> Role | None:
    """Return the role of a turn, and None for every other role and for what is none."""
    return _ROLES.get(value.strip().lower()) if isinstance(value, str) else None


def is_no_turn(role: object) -> bool:
    """Say whether a role is known to be neither side's; a message of any other may be a turn that can't be read."""
    return isinstance(role, str) and role.strip().lower() in _NO_TURNS


def join_parts(parts: Iterable[str]) -> str:
    """Join the text parts of one message: on a new line each, unless white space parts them already."""
    joined = ""
    for part in parts:
        if not part:
            continue
        if joined and not joined[-1].isspace() and not part[0].isspace():
            joined += "\n"
        joined += part
    return joined


def content_text(content: object) -> str:
    """Return the text of a message's content: a string, a part, or a list of them, of which text alone is taken."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return join_parts(text for part in parts if (text := _part_text(part)))


def _part_text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    # Tables of structs write every key, null where a part has none.
    if not isinstance(part, dict) or (part.get("type") is not None and as_word(part["type"]) not in _TEXT_PARTS):
        return None
    text = part.get("text")
    if text is None:
        text = part.get("value")
    if isinstance(text, dict):
        text = text.get("value")
    return text if isinstance(text, str) else None


def without_reasoning(reply: str) -> str:
    """Return a reply without the reasoning that some products write at its beginning, between marks of their own.

    What was cut short before the closing mark is reasoning to its end.
    """
    found = _REASONING.match(reply)
    return reply[found.end() :] if found else reply
