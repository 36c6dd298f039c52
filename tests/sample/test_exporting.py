import json
import zipfile
from pathlib import Path

import pytest

from orbit_pipelines.sample import exporting
from orbit_pipelines.sample.exporting import export_conversation, node_id, write_exports
from orbit_pipelines.sample.transcripts import parse_transcript

HEAD = "title: Tea\nstarted: 2026-01-05T08:00:00Z\nmodel: gpt-5\n\n"


def test_a_turn_that_replaces_another_is_its_sibling_and_in_view() -> None:
    exported = export_conversation(
        parse_transcript(
            "t", HEAD + "=== user #q\nTea?\n\n=== assistant #no\nNo.\n\n=== assistant instead-of=no\nYes.\n"
        )
    )
    question = exported["mapping"][node_id("t", "q")]
    assert question["children"] == [node_id("t", "no"), node_id("t", "2")]
    assert exported["current_node"] == node_id("t", "2")


def test_every_node_stands_among_the_children_of_its_parent() -> None:
    exported = export_conversation(parse_transcript("t", HEAD + "=== user\nTea?\n\n=== assistant\nYes.\n"))
    for node in exported["mapping"].values():
        assert node["parent"] is None or node["id"] in exported["mapping"][node["parent"]]["children"]


def test_ids_of_labelled_turns_stay_when_turns_come_before_them() -> None:
    before = export_conversation(parse_transcript("t", HEAD + "=== user #q\nTea?\n"))
    after = export_conversation(parse_transcript("t", HEAD + "=== system hidden\n\n=== user #q\nTea?\n"))
    assert before["current_node"] == after["current_node"]


def test_a_content_type_that_no_export_has_is_refused() -> None:
    with pytest.raises(ValueError, match="no such content type: riddle"):
        export_conversation(parse_transcript("t", HEAD + "=== user type=riddle\nTea?\n"))


def test_the_files_in_the_package_are_what_the_transcripts_say(tmp_path: Path) -> None:
    """Run ``python -m orbit_pipelines.sample.exporting`` after changing a transcript."""
    write_exports(tmp_path)
    assert (exporting.FOLDER / "household.json").read_text("utf-8") == (tmp_path / "household.json").read_text("utf-8")
    assert read_zip(exporting.FOLDER / "mara.zip") == read_zip(tmp_path / "mara.zip")


def read_zip(path: Path) -> dict[str, object]:
    with zipfile.ZipFile(path) as packed:
        return {name: json.loads(packed.read(name)) for name in packed.namelist()}
