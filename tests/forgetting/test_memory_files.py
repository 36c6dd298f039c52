"""Lines of files that hold an exact text of a selected session: which go, what stays, and how a file is replaced."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.forgetting import files
from orbit_pipelines.forgetting.failures import ForgetFailed
from orbit_pipelines.forgetting.files import LinesOfFiles, match_lines, replace_if_unchanged, split_lines, without_lines
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.snippets import cut_snippets
from tests.forgetting.forgetful import ME, forget_in, talk
from tests.worlds import World

SECRET = "the spare key lies under the blue pot"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """A folder with memory files."""
    folder = tmp_path / "memory"
    folder.mkdir()
    return folder


def lines_of(folder: Path) -> tuple[Any, ...]:
    """The registry with the files of a folder beside what there is."""
    return (*KINDS, LinesOfFiles("memory_files", lambda _scene: folder.glob("*.md")))


def confide(world: World) -> None:
    """Say something in one session that another holds too, and something that is only there."""
    talk(world)
    world.say(ME, "s1", f"Remember: {SECRET}\nIt rains a lot here.", "> Noted.")
    world.say(ME, "s2", "It rains a lot here.", "> It does.")
    world.build()


@given(st.binary(max_size=40))
def test_lines_joined_again_are_the_file(content: bytes) -> None:
    assert b"".join(split_lines(content)) == content
    assert without_lines(content, []) == content


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"\xff", b"\x0c"]), max_size=12))
def test_a_line_goes_with_its_end_and_no_other_byte_does(pieces: list[bytes]) -> None:
    content = b"".join(pieces)
    lines = split_lines(content)
    for number in range(1, len(lines) + 1):
        assert without_lines(content, [number]) == b"".join(lines[: number - 1] + lines[number:])
    assert all(line.rstrip(b"\r\n") == line.rstrip(b"\r\n").replace(b"\n", b"") for line in lines)


def test_snippets_are_whole_lines_of_twelve_characters_or_more() -> None:
    assert cut_snippets(["short\n  exactly 12 c \r\ntoo short 1\rélèves d’été !"]) == {"exactly 12 c", "élèves d’été !"}


def test_a_line_that_holds_a_snippet_anywhere_matches_by_its_longest() -> None:
    content = b"- Note: aaaa bbbb cccc dddd!\r\nno\r\naaaa bbbb cccc"
    matched = match_lines(content, ["aaaa bbbb cccc", "aaaa bbbb cccc dddd"])
    assert [(line.number, line.snippet) for line in matched] == [(1, "aaaa bbbb cccc dddd"), (3, "aaaa bbbb cccc")]


def test_whole_lines_go_hand_written_ones_too_and_all_other_bytes_stay(world: World, memory: Path) -> None:
    confide(world)
    path = memory / "MEMORY.md"
    kept = b"# Mine\r\n\r\n- caf\xe9 \xff\r- The spare key is somewhere.\n"
    path.write_bytes(kept + f"- I was told that Remember: {SECRET}, I think\r\n".encode() + b"last, without an end")
    os.chmod(path, 0o640)
    preview = forget_in(world, sessions=("s1",), kinds=lines_of(memory), dry_run=True)
    report = forget_in(world, sessions=("s1",), kinds=lines_of(memory))
    assert preview.digest == report.digest
    assert path.read_bytes() == kept + b"last, without an end"
    assert path.stat().st_mode & 0o777 == 0o640
    assert report.artifacts["memory_files"].ids == (f"{path}:5",)
    assert [each.name for each in memory.iterdir()] == ["MEMORY.md"]


def test_the_preview_shows_each_line_and_marks_what_also_stands_in_sessions_that_stay(
    world: World, memory: Path
) -> None:
    confide(world)
    (memory / "MEMORY.md").write_text(f"- Remember: {SECRET}\n- It rains a lot here.\n")
    report = forget_in(world, sessions=("s1",), kinds=lines_of(memory), dry_run=True)
    lines = report.as_json()["artifacts"]["memory_files"]["lines"]
    assert [(line["line"], line["text"], line["is_elsewhere"]) for line in lines] == [
        (1, f"- Remember: {SECRET}", False),
        (2, "- It rains a lot here.", True),
    ]


def test_snippets_also_come_from_chunks_whose_messages_are_gone(world: World, memory: Path) -> None:
    confide(world)
    world.sql("delete from orbitpilot.message where session_id = 's1'")
    path = memory / "MEMORY.md"
    path.write_text(f"Remember: {SECRET}\n")
    forget_in(world, sessions=("s1",), kinds=lines_of(memory))
    assert path.read_text() == ""


def test_a_line_of_an_entry_changes_the_plan_when_its_file_does(world: World, memory: Path) -> None:
    confide(world)
    path = memory / "MEMORY.md"
    path.write_text(f"Remember: {SECRET}\n")
    plan = forget_in(world, sessions=("s1",), kinds=lines_of(memory), dry_run=True).digest
    path.write_text(f"Something else.\nRemember: {SECRET}\n")
    assert forget_in(world, sessions=("s1",), kinds=lines_of(memory), dry_run=True).digest != plan


def test_a_file_is_replaced_only_while_it_has_the_content_that_was_read(memory: Path) -> None:
    path = memory / "MEMORY.md"
    path.write_bytes(b"as read")
    assert not replace_if_unchanged(path, b"otherwise", b"fresh")
    assert path.read_bytes() == b"as read"
    assert replace_if_unchanged(path, b"as read", b"fresh")
    assert path.read_bytes() == b"fresh"
    assert [each.name for each in memory.iterdir()] == ["MEMORY.md"]


def test_a_file_that_changed_meanwhile_is_planned_anew(
    world: World, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    confide(world)
    path = memory / "MEMORY.md"
    path.write_text(f"Remember: {SECRET}\n")
    writes = iter([True, False])

    def interfere(target: Path, expected: bytes, fresh: bytes) -> bool:
        if next(writes, False):
            target.write_bytes(target.read_bytes() + f"An agent adds a line.\nRemember: {SECRET}, twice\n".encode())
        return replace_if_unchanged(target, expected, fresh)

    monkeypatch.setattr(files, "replace_if_unchanged", interfere)
    forget_in(world, sessions=("s1",), kinds=lines_of(memory))
    assert path.read_text() == "An agent adds a line.\n"


def test_a_file_that_never_stays_is_named_and_its_evidence_kept(
    world: World, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    confide(world)
    path = memory / "MEMORY.md"
    path.write_text(f"Remember: {SECRET}\n")
    monkeypatch.setattr(files, "replace_if_unchanged", lambda *_: False)
    with pytest.raises(ForgetFailed, match="memory_files") as caught:
        forget_in(world, sessions=("s1",), kinds=lines_of(memory))
    assert str(path) in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "s1:0" in world.contents()
    monkeypatch.undo()
    forget_in(world, sessions=("s1",), kinds=lines_of(memory))
    assert path.read_text() == ""


def test_a_link_that_may_lead_elsewhere_is_refused_and_told(world: World, memory: Path, tmp_path: Path) -> None:
    confide(world)
    outside = tmp_path / "outside.md"
    outside.write_text(f"Remember: {SECRET}\n")
    (memory / "MEMORY.md").symlink_to(outside)
    report = forget_in(world, sessions=("s1",), kinds=lines_of(memory))
    assert report.as_json()["refused"] == [{"kind": "memory_files", "id": f"{memory / 'MEMORY.md'}: no regular file"}]
    assert outside.read_text() == f"Remember: {SECRET}\n"
