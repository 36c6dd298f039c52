"""What the JSON of every chat format shares: values that may be of any type, and text that comes in parts."""

import re
from collections.abc import Iterable, Mapping

from orbit_pipelines.history.stream import Problems, Role

_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_SPOKEN_PARTS = frozenset({"audio", "input_audio", "output_audio"})
_WORDS = ("text", "value", "content", "refusal", "transcript", "caption")
"""Where a part of a kind that nobody knows would have words."""

_WORDLESS_PARTS = frozenset(
    {
        "agent_update",
        "document",
        "error",
        "file",
        "flag",
        "function",
        "function_call",
        "function_call_output",
        "image",
        "image_file",
        "image_url",
        "input_file",
        "input_image",
        "knowledge",
        "mcp_tool_result",
        "mcp_tool_use",
        "reasoning",
        "reasoning_text",
        "redacted_thinking",
        "server_tool_use",
        "summary_text",
        "think",
        "thinking",
        "token_budget",
        "tool",
        "tool_call",
        "tool_result",
        "tool_use",
        "toolcall",
        "toolresult",
        "video_url",
        "web_search_tool_result",
    }
)
"""Parts that are left out on purpose; a part of any other kind that has words is reported."""
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


def said_in(turn: Mapping[str, object]) -> object:
    """Return what a turn of a list says, under the first of the usual names that it has."""
    said = turn.get("content")
    if said is not None:
        return said
    return next((turn[key] for key in ("text", "value", "parts") if turn.get(key) is not None), None)


def is_marked(value: object) -> bool:
    """Say whether a mark is set, however a product or a tool wrote it: all but what says no is a mark."""
    if isinstance(value, str):
        return value.strip().lower() not in _UNSET
    return bool(value)


_UNSET = frozenset({"", "0", "f", "false", "n", "no", "none", "null", "off"})


def content_text(content: object, where: str, problems: Problems) -> str:
    """Return the text of a message's content: a string, a part, or a list of them, of which text alone is taken.

    What has words and is of a kind that isn't known is reported.
    """
    if isinstance(content, str):
        return content
    texts: list[str] = []
    has_unknown = False
    for part in content if isinstance(content, list) else [content]:
        text = _part_text(part)
        if text is not None:
            texts.append(text)
        else:
            has_unknown = has_unknown or _has_words(part)
    if has_unknown:
        problems.add("unknown_content", where, "content of a kind that isn't known here; it was left out")
    return join_parts(texts)


def _part_text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    # Tables of structs write every key, null where a part has none.
    kind = part.get("type")
    if kind == "refusal" or (kind is None and part.get("text") is None and part.get("value") is None):
        return as_word(part.get("refusal"))
    if isinstance(kind, str) and kind in _SPOKEN_PARTS:
        return as_word(part.get("transcript"))
    if kind is not None and as_word(kind) not in _TEXT_PARTS:
        return None
    text = part.get("text")
    if text is None:
        text = part.get("value")
    if isinstance(text, dict):
        text = text.get("value")
    return text if isinstance(text, str) else None


def _has_words(part: object) -> bool:
    """Say whether a part of no known kind may hold words."""
    if not isinstance(part, dict):
        return part is not None and part != []
    if (as_word(part.get("type")) or "").lower() in _WORDLESS_PARTS:
        return False
    words = (part.get(key) for key in _WORDS)
    return any(word.strip() if isinstance(word, str) else word for word in words)


def without_reasoning(reply: str) -> str:
    """Return a reply without the reasoning that some products write at its beginning, between marks of their own.

    What was cut short before the closing mark is reasoning to its end.
    """
    found = _REASONING.match(reply)
    return reply[found.end() :] if found else reply
