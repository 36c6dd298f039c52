"""What a failed build's row keeps."""

import pytest

from orbit_pipelines.building.failure_notes import failure_note, has_advice


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("EmbeddingFailed", "EmbeddingFailed: Said."),
        ("NothingStagedMayPass", "NothingStagedMayPass: Said."),
        ("OutOfSpace", "OutOfSpace: Said."),
        ("NotNullViolation", "NotNullViolation: see the Dagster run"),
        ("UsageError", "UsageError: see the Dagster run"),
        ("interrupted", "interrupted: see the Dagster run"),
    ],
)
def test_the_words_are_kept_of_errors_that_hold_no_row(name: str, note: str) -> None:
    assert failure_note(name, " Said. ") == note
    assert has_advice(note) == note.endswith("Said.")


def test_a_lost_connection_is_told_without_the_servers_words() -> None:
    note = failure_note("DatabaseUnavailable", 'connection failed: FATAL: role "ann" is not permitted')
    assert "ann" not in note
    assert "Run the build again" in note
