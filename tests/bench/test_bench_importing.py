from pathlib import Path

from orbit_pipelines.bench.importing import MESSAGES_PER_CONVERSATION, measure_import, write_export
from orbit_pipelines.bench.places import Place
from orbit_pipelines.history.formats.registry import read_sessions
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.stream import Problems


def test_the_export_reads_as_chatgpts_without_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    write_export(file, 3)
    problems = Problems()
    with open_export(file) as export:
        sessions = list(read_sessions(export, problems, format_name="chatgpt"))
    assert len(sessions) == 3
    assert {len(session.messages) for session in sessions} == {MESSAGES_PER_CONVERSATION}
    assert {message.role for session in sessions for message in session.messages} == {"user", "assistant"}
    assert not problems.counts


def test_an_import_is_measured_in_whole_conversations(place: Place) -> None:
    said: list[str] = []
    measured = measure_import(place, 90, said.append)
    assert (measured.messages, measured.sessions) == (120, 3)
    assert measured.file_bytes == (place.folder / "conversations.json").stat().st_size
    assert measured.seconds > 0
    assert measured.again_seconds > 0
    assert measured.peak_mib >= measured.baseline_mib > 10
    assert len(said) == 2
