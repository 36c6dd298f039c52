"""Admission rules and builds: what memory had stays, what comes later doesn't enter, whatever runs meanwhile."""

import polars as pl
import pytest

from orbit_pipelines.building.run import build
from orbit_pipelines.model import Store
from tests.building.scratch_rebuild import rebuild_from_scratch, stored_chunks
from tests.worlds import World

ME = Store("me")
RULE = "insert into memory.admission_rule (kind, value) values ('session_kind', 'chat')"
UNRULE = "update memory.admission_rule set removed_at = now()"


def begun(world: World) -> World:
    world.account("me")
    world.say(ME, "s", "I like tea.", "> Noted.", "And jam.")
    world.build()
    return world


def below(world: World) -> dict[str, int]:
    return dict(world.sql("select session_id, admitted_below from memory.session_admission"))


def is_what_a_rebuild_gives(world: World) -> bool:
    stored = stored_chunks(world)
    return stored.rows() == rebuild_from_scratch(world).select(stored.columns).rows()


def test_what_memory_had_stays_in_builds_of_both_modes_and_later_pairs_stay_out(world: World) -> None:
    begun(world).sql(RULE)
    world.say(ME, "s", "More.", "> Of it.")
    world.say(ME, "t", "Another session.")

    for full in (False, True, False, True):
        world.build(full=full)
        assert set(world.contents()) == {"s:0", "s:1"}
        assert world.skips() == {"s:2": "not_admitted", "t:0": "not_admitted"}
        assert below(world) == {"s": 2, "t": 0}
    world.sql("update orbitpilot.message set content = 'I like coffee.' where pair_index = 0 and session_id = 's'")
    world.say(ME, "s", "> Jam too.")
    world.build()
    assert "coffee" in world.contents()["s:0"]
    assert is_what_a_rebuild_gives(world)


def test_a_reply_that_comes_later_to_what_memory_had_enters(world: World) -> None:
    begun(world).sql(RULE)
    world.say(ME, "s", "> Plum jam.")
    world.build()

    assert "Plum jam." in world.contents()["s:1"]


def test_removing_the_rule_lets_pairs_in_at_the_next_build_and_counts_anew_for_the_next_rule(world: World) -> None:
    begun(world).sql(RULE)
    world.say(ME, "s", "More.")
    world.build()
    world.sql(UNRULE)
    published = world.build()
    assert published.reasons["added"] == {"admitted_again": 1}
    assert below(world) == {}

    world.sql(RULE)
    world.say(ME, "s", "Even more.")
    world.build()
    assert below(world) == {"s": 3}
    assert world.skips() == {"s:3": "not_admitted"}


def test_a_rule_in_place_of_another_between_two_builds_lets_nothing_in(world: World) -> None:
    begun(world).sql(RULE)
    world.say(ME, "s", "More.")
    world.build()
    world.sql(UNRULE)
    world.sql("insert into memory.admission_rule (kind, value, user_id) values ('session_kind', 'chat', 'me')")
    world.build()

    assert world.skips() == {"s:2": "not_admitted"}
    assert below(world) == {"s": 2}


def test_a_pair_that_its_flag_kept_out_counts_as_covered(world: World) -> None:
    world.account("me")
    [message] = world.say(ME, "s", "Never this.")
    world.remember(ME, "s", message, remembered=False)
    world.build()
    world.sql(RULE)
    world.say(ME, "s", "More.")
    world.build()
    assert world.skips() == {"s:0": "not_remembered", "s:1": "not_admitted"}

    world.remember(ME, "s", message, remembered=True)
    world.build()
    assert set(world.contents()) == {"s:0"}


@pytest.mark.parametrize("full", [False, True])
def test_a_rule_that_comes_between_extraction_and_publish_keeps_out_what_was_staged(world: World, full: bool) -> None:
    begun(world)
    world.say(ME, "s", "More.")
    world.say(ME, "t", "Another session.")
    run = world.run(full=full)
    run.embedding()
    world.sql(RULE)
    published = build(run)

    assert published.reasons["skipped"] == {"not_admitted": 2}
    assert set(world.contents()) == {"s:0", "s:1"}
    assert below(world) == {"s": 2, "t": 0}
    assert is_what_a_rebuild_gives(world)
    world.build()
    assert world.skips() == {"s:2": "not_admitted", "t:0": "not_admitted"}
    assert world.build().added == 0


def test_a_rule_that_comes_after_a_publish_finds_covered_what_it_took_in(world: World) -> None:
    begun(world)
    run = world.run()
    world.say(ME, "s", "More.")
    build(run)
    world.sql(RULE)
    world.say(ME, "s", "Even more.")
    world.build(full=True)

    assert below(world) == {"s": 3}
    assert set(world.contents()) == {"s:0", "s:1", "s:2"}


def test_a_rule_removed_between_extraction_and_publish_waits_for_the_next_build(world: World) -> None:
    begun(world).sql(RULE)
    world.say(ME, "s", "More.")
    run = world.run()
    run.embedding()
    world.sql(UNRULE)
    build(run)
    assert world.skips() == {"s:2": "not_admitted"}

    world.build()
    assert set(world.contents()) == {"s:0", "s:1", "s:2"}
    assert below(world) == {}


def test_a_flag_and_a_rule_that_come_between_tell_the_flag(world: World) -> None:
    begun(world)
    [message] = world.say(ME, "s", "More.")
    run = world.run()
    run.embedding()
    world.sql(RULE)
    world.remember(ME, "s", message, remembered=False)
    build(run)

    assert world.skips()["s:2"] == "not_remembered"


def test_a_build_of_one_person_leaves_the_others_rule_to_theirs(world: World) -> None:
    begun(world)
    you = world.account("you")
    world.say(you, "y", "Mine.")
    world.build()
    world.sql(RULE)
    world.say(you, "y", "More of mine.")
    world.say(ME, "s", "More.")
    world.build("you")
    assert world.skips() == {"y:1": "not_admitted"}
    world.build()
    assert world.skips() == {"s:2": "not_admitted", "y:1": "not_admitted"}
    assert world.build().skipped == 0


def test_nothing_to_do_is_nothing_to_do_with_rules_in_force(world: World) -> None:
    begun(world).sql(RULE)
    world.build()
    world.build()

    assert world.sql("select status from memory.build order by build_id desc limit 1") == [("unchanged",)]


def test_no_text_of_what_is_kept_out_is_read(world: World) -> None:
    begun(world).sql(RULE)
    world.say(ME, "s", "A secret.", "> Kept.")
    run = world.run(full=True)
    run.extraction()
    texts = pl.concat([run.workspace.read("messages", part) for part in run.workspace.parts("messages")])["content"]
    run.close()

    assert "I like tea." in texts.to_list()
    assert not {"A secret.", "Kept."} & set(texts)


def test_a_session_that_moves_takes_its_admission_along_and_leaves_none_behind(world: World) -> None:
    begun(world).sql(RULE)
    world.account("you")
    world.build()
    world.sql("update orbitpilot.session set user_id = 'you'")
    world.say(Store("you"), "s", "More.")
    world.build()

    assert world.sql("select user_id, admitted_below from memory.session_admission") == [("you", 2)]
    assert set(world.contents()) == {"s:0", "s:1"}
    assert world.skips() == {"s:2": "not_admitted"}


def test_a_session_that_comes_to_say_what_a_rule_names_keeps_what_memory_had(world: World) -> None:
    begun(world).sql("insert into memory.admission_rule (kind, value) values ('participant', 'guest')")
    world.sql("insert into orbitpilot.session_participant values ('me', 'orbitpilot', 's', 'guest')")
    world.say(ME, "s", "More.")
    world.build()
    assert below(world) == {"s": 2}
    assert set(world.contents()) == {"s:0", "s:1"}

    world.sql("delete from orbitpilot.session_participant")
    world.build()
    assert below(world) == {}
    assert set(world.contents()) == {"s:0", "s:1", "s:2"}
