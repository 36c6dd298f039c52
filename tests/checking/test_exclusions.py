from collections.abc import Callable

from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.exclusions import no_chunk_from_an_excluded_pair
from orbit_pipelines.model import Store
from tests.worlds import World

Builds = Callable[..., BuildOfRun]

BLINKS = "blink.blinks"


def populate(world: World) -> tuple[Store, dict[str, str]]:
    me = world.account("me")
    tea, _, jam, _ = world.say(me, "s", "I like tea.", "> Noted.", "And jam.", "> Jam too.")
    knee, van, _ = world.say(me, "run", "About my knee.", "And my van.", "> On both: rest.")
    world.record(me, BLINKS, "b", "A blink.")
    return me, {"tea": tea, "jam": jam, "knee": knee, "van": van}


def pretend_flags_are_old(world: World) -> None:
    """Set flags without the trigger that tells when: as if the last build had seen them."""
    world.sql("alter table orbitpilot.message disable trigger mark_flag")
    world.sql("alter table orbitpilot.record disable trigger mark_flag")


def test_a_flag_is_pending_until_the_next_build_takes_it_in(world: World, build_in_run: Builds) -> None:
    me, ids = populate(world)
    world.build()
    world.remember(me, "s", ids["tea"], remembered=False)
    world.remember(me, "run", ids["knee"], remembered=False)
    world.exclude(me, BLINKS, "b", excluded=True)
    finding = no_chunk_from_an_excluded_pair(world.connection)
    assert finding.passed
    # The excluded pairs, the record, and the pair that holds the reply to the run.
    assert (finding.counts["chunks"], finding.counts["pending"]) == (5, 4)
    build = build_in_run()
    for look_at in (None, build):
        finding = no_chunk_from_an_excluded_pair(world.connection, look_at)
        assert finding.passed
        assert finding.counts["pending"] == 0


def test_a_chunk_of_an_excluded_pair_is_seen(world: World) -> None:
    me, ids = populate(world)
    world.build()
    pretend_flags_are_old(world)
    world.remember(me, "s", ids["tea"], remembered=False)
    finding = no_chunk_from_an_excluded_pair(world.connection)
    assert not finding.passed
    assert (finding.counts["of_excluded_pairs"], finding.counts["pending"]) == (1, 0)
    assert finding.examples == ("me/orbitpilot/orbitpilot.chat_history/s:0",)


def test_an_excluded_pair_under_another_number_is_seen(world: World) -> None:
    me, ids = populate(world)
    world.build()
    pretend_flags_are_old(world)
    world.remember(me, "s", ids["tea"], remembered=False)
    world.sql("update memory.chunk set source_id = 's:7' where source_id = 's:0'")
    assert no_chunk_from_an_excluded_pair(world.connection).examples == ("me/orbitpilot/orbitpilot.chat_history/s:7",)


def test_a_reply_to_an_excluded_message_of_its_run_is_seen(world: World) -> None:
    me, ids = populate(world)
    world.build()
    pretend_flags_are_old(world)
    world.remember(me, "run", ids["knee"], remembered=False)
    finding = no_chunk_from_an_excluded_pair(world.connection)
    assert finding.counts["with_replies_to_excluded_messages"] == 1
    assert "me/orbitpilot/orbitpilot.chat_history/run:1" in finding.examples


def test_a_reply_that_another_chunk_holds_is_seen(world: World) -> None:
    me, ids = populate(world)
    world.remember(me, "run", ids["knee"], remembered=False)
    world.build()
    world.sql(
        "update memory.chunk set reply_message_ids = (select array_agg(message_id) from orbitpilot.message"
        " where answers = 1 and session_id = 'run'), session_id = 'run' where source_id = 's:0'"
    )
    finding = no_chunk_from_an_excluded_pair(world.connection)
    assert finding.examples == ("me/orbitpilot/orbitpilot.chat_history/s:0",)


def test_a_deleted_message_still_keeps_the_reply_to_its_run_out(world: World, build_in_run: Builds) -> None:
    me, ids = populate(world)
    world.build()
    world.remember(me, "run", ids["knee"], remembered=False)
    world.sql("delete from orbitpilot.message where message_id = %s", ids["knee"])
    finding = no_chunk_from_an_excluded_pair(world.connection)
    assert finding.passed
    assert finding.counts["pending"] == 2
    build = build_in_run()
    assert no_chunk_from_an_excluded_pair(world.connection, build).counts["pending"] == 0
    world.sql("update memory.chunk set reply_message_ids = '{x}' where source_id = 'run:1'")
    assert no_chunk_from_an_excluded_pair(world.connection, build).counts["with_replies_to_excluded_messages"] == 1


def test_a_chunk_of_an_excluded_record_is_seen(world: World) -> None:
    me, _ = populate(world)
    world.build()
    pretend_flags_are_old(world)
    world.exclude(me, BLINKS, "b", excluded=True)
    finding = no_chunk_from_an_excluded_pair(world.connection)
    assert (finding.passed, finding.counts["of_excluded_records"]) == (False, 1)
    assert finding.examples == ("me/orbitpilot/blink.blinks/b",)


def test_after_a_build_only_what_it_looked_at_is_read(world: World, build_in_run: Builds) -> None:
    me, ids = populate(world)
    world.build()
    pretend_flags_are_old(world)
    world.remember(me, "s", ids["tea"], remembered=False)
    world.say(me, "other", "Something new.")
    finding = no_chunk_from_an_excluded_pair(world.connection, build_in_run())
    assert (finding.passed, finding.counts["chunks"]) == (True, 1)
    assert not no_chunk_from_an_excluded_pair(world.connection).passed


def test_a_run_that_a_new_flag_joined_after_the_build_is_pending(world: World) -> None:
    me, ids = populate(world)
    world.remember(me, "s", ids["tea"], remembered=False)
    world.build()
    # The reply between the two goes, so that both are one run now.
    world.sql("update orbitpilot.message set run_index = 0 where session_id = 's' and pair_index = 1")
    finding = no_chunk_from_an_excluded_pair(world.connection)
    assert (finding.passed, finding.counts["pending"]) == (True, 1)


def test_a_watermark_of_another_database_says_nothing_of_flags(world: World) -> None:
    me, ids = populate(world)
    world.build()
    pretend_flags_are_old(world)
    world.remember(me, "s", ids["tea"], remembered=False)
    world.sql("update memory.watermark set system_identifier = 'another'")
    finding = no_chunk_from_an_excluded_pair(world.connection)
    assert (finding.passed, finding.counts["pending"]) == (True, 1)
