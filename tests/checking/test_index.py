from collections.abc import Callable
from pathlib import Path

import pytest

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.finding import Finding
from orbit_pipelines.checking.index import index_equals_extraction
from orbit_pipelines.model import Store
from orbit_pipelines.settings import Settings
from tests.worlds import World

Builds = Callable[..., BuildOfRun]

BLINKS = "blink.blinks"


def populate(world: World) -> Store:
    me = world.account("me")
    world.say(me, "s", "I like tea.", "> Noted.", "And jam.", "> Jam too.")
    world.record(me, BLINKS, "b", "A blink.")
    return me


def check(world: World, build: BuildOfRun | None = None) -> Finding:
    return index_equals_extraction(world.connection, world.settings, build)


def test_after_a_build_the_index_is_what_it_staged_and_what_an_audit_finds(world: World, build_in_run: Builds) -> None:
    me = populate(world)
    for full in (False, True, False):
        build = build_in_run(full=full)
        assert check(world, build).passed
        finding = check(world)
        assert finding.passed
        assert finding.counts["pending"] == 0
        world.say(me, "s", "One more.", "> And a reply.")
    assert finding.counts["chunks"] == 5


@pytest.mark.parametrize(
    ("tampering", "problem"),
    [
        ("delete from memory.chunk where source_id = 's:1'", "missing"),
        ("update memory.chunk set chunk_index = 3 where source_id = 's:1'", "extra"),
        ("update memory.chunk set content_hash = '\\x00' where source_id = 's:1'", "of_another_text"),
        ("update memory.chunk set reply_message_ids = '{}' where source_id = 's:1'", "described_otherwise"),
        ("update memory.chunk set origin_class = 'owner' where source_id = 's:1'", "described_otherwise"),
        ("update memory.chunk set content = 'I like beer.' where source_id = 's:1'", "not_true_to_their_hash"),
    ],
)
def test_a_row_that_was_not_extracted_so_is_seen(
    world: World, build_in_run: Builds, tampering: str, problem: str
) -> None:
    populate(world)
    build = build_in_run()
    world.sql(tampering)
    for look_at in (None, build):
        finding = check(world, look_at)
        assert (finding.passed, finding.counts[problem]) == (False, 1)
        assert "me/orbitpilot/orbitpilot.chat_history/s:1/0" in finding.examples


def test_what_changed_since_the_watermark_is_pending(world: World, build_in_run: Builds) -> None:
    me = populate(world)
    world.say(me, "other", "Untouched.")
    build = build_in_run()
    world.say(me, "s", "Something new.")
    world.sql("update orbitpilot.message set content = 'I like cocoa.' where session_id = 's' and pair_index = 0")
    world.exclude(me, BLINKS, "b", excluded=True)
    for look_at in (None, build):
        finding = check(world, look_at)
        assert finding.passed
        assert (finding.counts["chunks"], finding.counts["pending"]) == (2, 2)


def test_a_deletion_and_a_plan_that_changed_are_pending(world: World) -> None:
    me = populate(world)
    you = world.account("you")
    world.say(you, "s", "I like coffee.")
    world.build()
    world.sql("delete from orbitpilot.message where session_id = 's' and user_id = 'me' and pair_index = 0")
    finding = check(world)
    assert (finding.passed, finding.counts["pending"]) == (True, 2)
    world.sql("update orbitpilot.memory_source set in_rag = false where source_key = 'orbitpilot.chat_history'")
    finding = check(world)
    assert (finding.passed, finding.counts["chunks"]) == (True, 0)
    world.build()
    assert check(world).counts["pending"] == 0
    assert me


def test_an_edit_that_no_trigger_saw_is_a_difference(world: World) -> None:
    populate(world)
    world.build()
    world.sql("alter table orbitpilot.message disable trigger mark_content")
    world.sql("update orbitpilot.message set content = 'I like cocoa.' where pair_index = 0")
    finding = check(world)
    assert (finding.passed, finding.counts["of_another_text"]) == (False, 1)


def test_a_quarantined_sessions_chunks_are_left_alone(world: World) -> None:
    me = populate(world)
    world.build()
    world.sql("update orbitpilot.session set next_pair_index = 9")
    world.say(me, "other", "Something new.")
    world.build()
    assert check(world).passed


def test_after_a_small_build_only_its_extent_is_compared(world: World, build_in_run: Builds) -> None:
    me = populate(world)
    world.build()
    world.sql("delete from memory.chunk where source_id = 's:1'")
    world.say(me, "other", "Something new.")
    build = build_in_run()
    assert check(world, build).passed
    assert check(world, build).counts["chunks"] == 1
    assert check(world).counts["missing"] == 1


def test_people_another_build_published_since_are_left_out(world: World, build_in_run: Builds, tmp_path: Path) -> None:
    me, you = populate(world), world.account("you")
    world.say(you, "s", "I like coffee.")
    build = build_in_run()
    world.say(me, "s", "Something new.")
    key = (world.settings.home / "hash.key").read_text().strip()
    elsewhere = Settings(**{**world.settings.model_dump(), "home": tmp_path / "another-machine", "hash_key": key})
    world.build("me", settings=elsewhere)
    finding = check(world, build)
    assert (finding.passed, finding.counts["chunks"], finding.counts["pending"]) == (True, 1, 4)
    assert check(world).counts["pending"] == 0


def test_a_build_of_one_person_is_compared_before_there_is_one_of_everyone(world: World, build_in_run: Builds) -> None:
    populate(world)
    you = world.account("you")
    world.say(you, "s", "I like coffee.")
    build = build_in_run("you")
    for look_at in (None, build):
        finding = check(world, look_at)
        assert (finding.passed, finding.counts["chunks"], finding.counts["pending"]) == (True, 1, 0)


def test_another_way_of_cutting_makes_everything_pending(world: World) -> None:
    populate(world)
    world.build()
    other = Settings(**{**world.settings.model_dump(), "chunk_characters": 100})
    finding = index_equals_extraction(world.connection, other)
    assert (finding.passed, finding.counts["chunks"], finding.counts["pending"]) == (True, 0, 3)


def test_a_build_that_found_nothing_changed_has_nothing_to_compare(world: World, build_in_run: Builds) -> None:
    populate(world)
    world.build()
    finding = check(world, build_in_run())
    assert (finding.passed, finding.counts["chunks"]) == (True, 0)
