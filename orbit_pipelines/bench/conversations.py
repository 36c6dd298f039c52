"""Conversations with questions whose evidence is known: a set of the project's own, or a file of LoCoMo's layout.

Such a file is a list of samples, each with ``conversation`` (``session_1``, ``session_2`` … lists of turns with
``speaker``, ``dia_id``, ``text`` and perhaps ``blip_caption``; ``session_1_date_time`` …) and ``qa`` (``evidence``: ids
of turns).
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from orbit_pipelines.errors import BenchFailed
from orbit_pipelines.history.stream import ParsedMessage, ParsedSession

OWN = "conversations.json"

_SESSION = re.compile(r"session_(\d+)")
# Several ids in one string, and "D:11:26" or "D30:05" for one, occur.
_TURN_ID = re.compile(r"D:?(\d+):0*(\d+)")
_TIME = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Conversations:
    """One person's sessions; ``evidence`` are the ids of messages that questions need, each once."""

    user_id: str
    sessions: tuple[ParsedSession, ...]
    evidence: tuple[str, ...]

    @property
    def texts(self) -> dict[str, str]:
        """Return each message's text by its id."""
        return {str(message.message_id): message.content for each in self.sessions for message in each.messages}

    @property
    def session_of(self) -> dict[str, str]:
        """Return each message's session by its id."""
        return {str(message.message_id): str(each.session_id) for each in self.sessions for message in each.messages}


def read_conversations(path: Path | None = None) -> list[Conversations]:
    """Return the samples of a file, or of the project's own set.

    Raises:
        BenchFailed: the file can't be read, or isn't of that layout.
    """
    try:
        content = files("orbit_pipelines.bench").joinpath(OWN).read_bytes() if path is None else path.read_bytes()
        samples = [_read_sample(sample) for sample in json.loads(content)]
    except OSError as error:
        raise BenchFailed(f"{path} can't be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BenchFailed(
            f"{path} isn't of LoCoMo's layout ({type(error).__name__}): a list of samples, each with sample_id, "
            "conversation and qa."
        ) from None
    if not samples:
        raise BenchFailed(f"{path} holds no conversation.")
    return samples


def _read_sample(sample: dict[str, Any]) -> Conversations:
    user_id, conversation = str(sample["sample_id"]), sample["conversation"]
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    sessions = tuple(
        _read_session(user_id, number, conversation) for number in numbers if conversation[f"session_{number}"]
    )
    known = {message.message_id for session in sessions for message in session.messages}
    asked = (
        f"{user_id}/D{session}:{turn}"
        for question in sample["qa"]
        for given in question.get("evidence", ())
        for session, turn in _TURN_ID.findall(given)
    )
    return Conversations(user_id, sessions, tuple(dict.fromkeys(each for each in asked if each in known)))


def _read_session(user_id: str, number: int, conversation: dict[str, Any]) -> ParsedSession:
    turns = conversation[f"session_{number}"]
    # Whoever speaks first is the user, so that hardly a turn stands outside a pair.
    user = turns[0]["speaker"]
    begins = datetime.strptime(conversation[f"session_{number}_date_time"], _TIME).replace(tzinfo=UTC)
    messages: list[ParsedMessage] = []
    for turn in turns:
        session, position = _TURN_ID.findall(turn["dia_id"])[0]
        shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
        messages.append(
            ParsedMessage(
                message_id=f"{user_id}/D{session}:{position}",
                parent_id=messages[-1].message_id if messages else None,
                role="user" if turn["speaker"] == user else "assistant",
                content=f"{turn['speaker']}: {turn['text']}{shared}",
                sent_at=begins,
            )
        )
    return ParsedSession(f"{user_id}/session_{number}", tuple(messages), started_at=begins)
