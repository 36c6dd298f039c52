"""The sample holds what it is there to show, in texts that a person could have written."""

import json
import re
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines import sample

FOLDER = Path(sample.__file__).parent
SHIPPED = ("mara.zip", "household.json", "camille.jsonl", "records.json", "installation.toml")
Conversation = dict[str, Any]
Message = dict[str, Any]
FRENCH = frozenset({"le", "la", "les", "des", "une", "est", "je", "et", "pour", "dans", "que", "qui", "avec", "elle"})
ENGLISH = frozenset(
    {"the", "an", "is", "you", "and", "for", "in", "that", "which", "with", "he", "she", "it", "of", "to"}
)


@pytest.fixture(scope="module")
def conversations() -> list[Conversation]:
    found: list[Conversation] = json.loads((FOLDER / "household.json").read_text("utf-8"))
    with zipfile.ZipFile(FOLDER / "mara.zip") as packed:
        for name in packed.namelist():
            if name.startswith("conversations"):
                found += json.loads(packed.read(name))
    return found


@pytest.fixture(scope="module")
def camille() -> list[list[Message]]:
    return [json.loads(line)["messages"] for line in (FOLDER / "camille.jsonl").read_text("utf-8").splitlines()]


def nodes(conversations: list[Conversation]) -> Iterator[Message]:
    """Every message of the files, on the branch in view or off it."""
    for conversation in conversations:
        yield from (node["message"] for node in conversation["mapping"].values() if node["message"])


def turns(conversation: Conversation) -> list[Message]:
    """What a person sees: the branch in view, without tools, context and thoughts."""
    branch: list[Message] = []
    node = conversation["mapping"][conversation["current_node"]]
    while node["parent"]:
        branch.append(node["message"])
        node = conversation["mapping"][node["parent"]]
    return [
        message
        for message in reversed(branch)
        if message["author"]["role"] in ("user", "assistant")
        and message["recipient"] == "all"
        and message["content"]["content_type"] in ("text", "multimodal_text")
        and not message["metadata"].get("is_visually_hidden_from_conversation")
    ]


def role(message: Message) -> str:
    return str(message["author"]["role"])


def text(message: Message) -> str:
    parts = message["content"].get("parts", [])
    return "".join(part if isinstance(part, str) else part.get("text", "") for part in parts)


def siblings(conversation: Conversation) -> list[str]:
    """The role of each group of nodes that share a parent."""
    mapping = conversation["mapping"]
    return [role(mapping[node["children"][0]]["message"]) for node in mapping.values() if len(node["children"]) > 1]


def is_french(conversation: Conversation) -> bool:
    words = re.findall(r"\w+", " ".join(text(message) for message in turns(conversation)).lower())
    return sum(word in FRENCH for word in words) > sum(word in ENGLISH for word in words)


def test_there_are_about_150_pairs_in_about_20_conversations(
    conversations: list[Conversation], camille: list[list[Message]]
) -> None:
    asked = [message for conversation in conversations for message in turns(conversation) if role(message) == "user"]
    asked_by_camille = [message for messages in camille for message in messages if message["role"] == "user"]
    assert 145 <= len(asked) + len(asked_by_camille) <= 165
    assert 18 <= len(conversations) <= 26


def test_both_languages_have_conversations_of_their_own(conversations: list[Conversation]) -> None:
    french = [conversation for conversation in conversations if is_french(conversation)]
    assert len(french) >= 5
    assert len(conversations) - len(french) >= 10


def test_answers_were_regenerated_and_prompts_edited(conversations: list[Conversation]) -> None:
    groups = [group for conversation in conversations for group in siblings(conversation)]
    assert groups.count("assistant") >= 3
    assert groups.count("user") >= 2


def test_tools_were_called_and_answered(conversations: list[Conversation]) -> None:
    called = {message["recipient"] for message in nodes(conversations)} - {"all"}
    answered = {message["author"]["name"] for message in nodes(conversations) if role(message) == "tool"}
    assert {"python", "web.run", "bio", "canmore.create_textdoc", "dalle.text2im"} <= called & answered


def test_what_the_application_hides_is_there(conversations: list[Conversation]) -> None:
    types = {message["content"]["content_type"] for message in nodes(conversations)}
    hidden = [m for m in nodes(conversations) if m["metadata"].get("is_visually_hidden_from_conversation")]
    assert {"user_editable_context", "model_editable_context", "thoughts", "reasoning_recap"} <= types
    assert {role(message) for message in hidden} == {"system", "user"}


def test_one_conversation_is_marked_do_not_remember(conversations: list[Conversation]) -> None:
    marked = [conversation for conversation in conversations if conversation["is_do_not_remember"]]
    assert len(marked) == 1


def test_some_messages_hold_no_text_and_some_are_spoken(conversations: list[Conversation]) -> None:
    media = [m for m in nodes(conversations) if m["content"]["content_type"] == "multimodal_text"]
    assert any(role(message) == "user" and not text(message) for message in media)
    assert any("audio_transcription" in json.dumps(message["content"]) for message in media)


def test_one_reply_was_interrupted(conversations: list[Conversation]) -> None:
    interrupted = [message for message in nodes(conversations) if message["status"] == "in_progress"]
    assert [role(message) for message in interrupted] == ["assistant"]
    assert interrupted[0]["metadata"]["finish_details"] == {"type": "interrupted"}


def test_times_are_missing_here_and_there(conversations: list[Conversation]) -> None:
    untimed = [[message["create_time"] is None for message in turns(conversation)] for conversation in conversations]
    assert any(all(each) for each in untimed)
    assert any(any(each) and not all(each) for each in untimed)


def test_several_messages_in_a_row_share_a_reply_and_a_last_one_has_none(conversations: list[Conversation]) -> None:
    roles = [[role(message) for message in turns(conversation)] for conversation in conversations]
    assert sum("user,user,user,assistant" in ",".join(each) for each in roles) >= 2
    assert any(each[-1] == "user" for each in roles)
    assert not any(("assistant", "assistant") in pairwise(each) for each in roles)


def test_some_replies_are_hard_to_cut(conversations: list[Conversation]) -> None:
    replies = [text(message) for message in nodes(conversations) if role(message) == "assistant"]
    assert any(len(block) > 800 for reply in replies for block in re.findall(r"```.*?```", reply, re.DOTALL))
    assert sum("| --- |" in reply for reply in replies) >= 3
    assert sum(len(reply) > 1_500 for reply in replies) >= 3


def test_no_text_is_a_repetition_of_another(conversations: list[Conversation], camille: list[list[Message]]) -> None:
    texts = [text(message) for message in nodes(conversations) if role(message) in ("user", "assistant")]
    texts += [message["content"] for messages in camille for message in messages]
    long = [each for each in texts if len(each) > 60 and "No emojis" not in each]
    openings = [each[:40] for each in long]
    assert len(set(openings)) == len(openings)


def test_an_address_is_only_ever_an_example() -> None:
    for name in SHIPPED:
        found = re.findall(r"[\w.+-]+@([\w-]+\.[\w.-]+\w)", everything_in(name))
        assert set(found) <= {"example.org"}, name


def test_no_telephone_number_stands_in_the_sample() -> None:
    for name in SHIPPED:
        without_ids = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b\d+\.\d+\b", "", everything_in(name))
        assert not re.findall(r"(?:\+|\b0)\d(?:[ .-]?\d){7,}", without_ids), name


def test_the_files_are_small_enough_to_carry_along() -> None:
    assert sum((FOLDER / name).stat().st_size for name in SHIPPED) < 400_000


def everything_in(name: str) -> str:
    path = FOLDER / name
    if path.suffix != ".zip":
        return path.read_text("utf-8")
    with zipfile.ZipFile(path) as packed:
        return "\n".join(packed.read(entry).decode() for entry in packed.namelist())
