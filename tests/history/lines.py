"""Conversations in a short notation, as the products write them: ``"q >a q2 >"``, replies behind an arrow.

An underscore is a space. What can't be read is a question mark.
"""

from typing import Any

HUH = {"role": "huh", "content": "?"}


def user(content: str) -> dict[str, str]:
    """Write what a person says."""
    return {"role": "user", "content": content}


def assistant(content: str) -> dict[str, str]:
    """Write what is answered."""
    return {"role": "assistant", "content": content}


def row(turns: str, session_id: str | None = "s") -> dict[str, Any]:
    """Write a conversation in the style of OpenAI, whose messages have no ids."""
    messages = [
        HUH
        if turn == "?"
        else assistant(turn[1:].replace("_", " "))
        if turn.startswith(">")
        else user(turn.replace("_", " "))
        for turn in turns.split()
    ]
    return {"messages": messages} | ({"id": session_id} if session_id else {})


def row_with_ids(turns: str, session_id: str | None = "s", ids: str = "message-{}") -> dict[str, Any]:
    """Write the same, and give every message an id."""
    written = row(turns, session_id)
    for number, message in enumerate(written["messages"]):
        message["id"] = ids.format(number)
    return written


def row_with_first_id(turns: str, session_id: str | None = "s") -> dict[str, Any]:
    """Write the same, and give the first message alone its id."""
    written = row_with_ids(turns, session_id)
    for message in written["messages"][1:]:
        del message["id"]
    return written


def sharegpt(turns: str, session_id: str | None = "s") -> dict[str, Any]:
    """Write it in the style of ShareGPT."""
    said = [
        {"from": "human" if message["role"] == "user" else "gpt", "value": message["content"]}
        for message in row(turns)["messages"]
    ]
    return {"conversations": said} | ({"id": session_id} if session_id else {})


def claude(turns: str, session_id: str | None = "s", *, has_ids: bool = True, has_links: bool = True) -> dict[str, Any]:
    """Write it as Claude exports it, perhaps without the messages' ids or the links between them."""
    said: list[dict[str, Any]] = []
    for number, message in enumerate(row(turns)["messages"]):
        said.append(
            {
                "uuid": f"message-{number}" if has_ids else None,
                "sender": "human" if message["role"] == "user" else "assistant",
                "text": message["content"],
                "created_at": "2024-06-10T06:13:20Z",
            }
        )
        if has_links and has_ids:
            said[-1]["parent_message_uuid"] = f"message-{number - 1}" if number else None
    return {"uuid": session_id, "name": "", "chat_messages": said}
