import json
from pathlib import Path
from typing import Any

import pytest

from orbit_pipelines.bench.conversations import read_conversations
from orbit_pipelines.errors import BenchFailed


def sample(**changes: Any) -> dict[str, Any]:
    turns = [
        {"speaker": "Ann", "dia_id": "D2:1", "text": "A photo of the harbour.", "blip_caption": "a boat"},
        {"speaker": "Bob", "dia_id": "D2:2", "text": "Lovely."},
    ]
    return {
        "sample_id": "conv-1",
        "conversation": {"session_2_date_time": "1:56 pm on 8 May, 2023", "session_2": turns, "session_3": []},
        "qa": [{"question": "?", "evidence": ["D2:1; D2:02", "D:2:1", "D9:9", "D"]}, {"question": "?"}],
        **changes,
    }


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_the_projects_own_set_has_evidence_in_every_session() -> None:
    samples = read_conversations()

    assert len(samples) > 1
    for each in samples:
        sessions = {each.session_of[message] for message in each.evidence}
        assert sessions == {session.session_id for session in each.sessions}


def test_sessions_are_read_with_who_spoke_first_as_the_user(tmp_path: Path) -> None:
    [read] = read_conversations(write(tmp_path / "a.json", [sample()]))

    [session] = read.sessions
    assert session.session_id == "conv-1/session_2"
    assert session.started_at is not None
    assert session.started_at.isoformat() == "2023-05-08T13:56:00+00:00"
    assert [(message.role, message.content) for message in session.messages] == [
        ("user", "Ann: A photo of the harbour. [shares a boat]"),
        ("assistant", "Bob: Lovely."),
    ]


def test_evidence_is_read_however_it_is_written_and_unknown_ids_are_left_out(tmp_path: Path) -> None:
    [read] = read_conversations(write(tmp_path / "a.json", [sample()]))

    assert read.evidence == ("conv-1/D2:1", "conv-1/D2:2")


@pytest.mark.parametrize(
    "content", [{}, [1], [{"sample_id": "x"}], [sample(conversation={"session_1": [{"text": "no speaker"}]})], []]
)
def test_a_file_of_another_layout_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(BenchFailed, match=r"layout|no conversation"):
        read_conversations(write(tmp_path / "a.json", content))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchFailed, match=r"nowhere\.json can't be read"):
        read_conversations(tmp_path / "nowhere.json")
