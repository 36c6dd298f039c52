"""Labels of a thread and of records, under the application's role."""

from collections.abc import Callable

import pytest

from orbit_pipelines.history.recalled import BEGIN, END
from orbit_pipelines.model import CHAT_HISTORY, Store
from orbit_pipelines.sources.administration import assign_source, set_cap, switch_source
from orbit_pipelines.telling.labels import Label, labels_of, record_labels_of
from orbit_pipelines.telling.notice import GUEST_NOTICE, NoticeKind, notice_for, notice_of, read_chat_source_facts
from orbit_pipelines.telling.standing import State
from orbit_pipelines.telling.wording import wording_for
from tests.telling.conftest import Acting, counted_queries
from tests.worlds import World

BLINKS = "blink.blinks"


def labels(acting: Acting, store: Store, session: str = "s1") -> list[Label]:
    """Return the labels of a thread, in the order of its messages."""
    with acting(store.user_id) as app:
        return list(labels_of(app, store.user_id, store.agent_id, session).values())


def said(acting: Acting, store: Store, session: str = "s1", locale: str = "en") -> list[str]:
    """Return them in words."""
    return [str(label.text(wording_for(locale))) for label in labels(acting, store, session)]


def blink_said(acting: Acting, store: Store) -> dict[str, str]:
    """Return the labels of somebody's blinks in words."""
    with acting(store.user_id) as app:
        found = record_labels_of(app, store.user_id, store.agent_id, BLINKS)
    return {key: str(label.text(wording_for("en"))) for key, label in found.items()}


def catch(world: World, store: Store, reply: str, key: str = "b1", *, excluded: bool = False) -> None:
    """Store a blink caught from a reply of session s1."""
    world.record(store, BLINKS, key, "Caught.")
    world.sql(
        "update orbitpilot.record set origin_session_id = 's1', origin_message_id = %s, is_excluded = %s"
        " where (user_id, source_id) = (%s, %s)",
        *(reply, excluded, store.user_id, key),
    )


@pytest.fixture
def ann(world: World) -> Store:
    """Somebody with an account."""
    return world.account("ann")


def test_the_four_wordings_follow_each_other(world: World, acting: Acting, ann: Store) -> None:
    asked, _ = world.say(ann, "s1", "Plums?", "> Ripe.")
    assert said(acting, ann) == ["Remembered, from the next build on"]
    world.build()
    assert said(acting, ann) == ["Remembered"]
    world.remember(ann, "s1", asked, remembered=False)
    assert said(acting, ann) == ["Not remembered, from the next build on"]
    assert said(acting, ann, locale="fr") == ["Non mémorisé, à partir de la prochaine construction"]
    world.build()
    assert said(acting, ann) == ["Not remembered, already out of memory"]
    assert said(acting, ann, locale="fr") == ["Non mémorisé, déjà hors de la mémoire"]
    world.remember(ann, "s1", asked, remembered=True)
    assert said(acting, ann) == ["Remembered, from the next build on"]
    world.build()
    assert said(acting, ann) == ["Remembered"]


def test_a_flag_is_pending_until_a_build_over_the_person_has_seen_it(world: World, acting: Acting, ann: Store) -> None:
    bob = world.account("bob")
    asked, _ = world.say(ann, "s1", "Plums?", "> Ripe.")
    world.build()
    assert [label.is_flag_pending for label in labels(acting, ann)] == [False]
    world.remember(ann, "s1", asked, remembered=False)
    world.build(bob.user_id)
    assert [label.is_flag_pending for label in labels(acting, ann)] == [True]
    world.build(ann.user_id)
    assert [label.is_flag_pending for label in labels(acting, ann)] == [False]
    world.remember(ann, "s1", asked, remembered=True)
    world.remember(ann, "s1", asked, remembered=False)
    assert [(label.is_flag_pending, label.state) for label in labels(acting, ann)] == [(True, State.NOT_REMEMBERED)]


def test_excluded_and_re_enabled_between_builds_is_simply_remembered(world: World, acting: Acting, ann: Store) -> None:
    asked, _ = world.say(ann, "s1", "Plums?", "> Ripe.")
    world.build()
    for remembered in (False, True):
        world.remember(ann, "s1", asked, remembered=remembered)

    assert said(acting, ann) == ["Remembered"]


@pytest.mark.parametrize(
    ("leave_out", "why"),
    [
        (
            lambda world: switch_source(world.connection, CHAT_HISTORY, in_rag=False),
            "switched off by the administrator",
        ),
        (
            lambda world: assign_source(world.connection, "default", CHAT_HISTORY, is_visible=False),
            "not in your plan",
        ),
        (lambda world: set_cap(world.connection, "default", 3), "left out by your plan's limit of 3 sources"),
    ],
)
def test_a_source_that_is_not_included_is_the_reason(
    leave_out: Callable[[World], bool], why: str, world: World, acting: Acting, ann: Store
) -> None:
    _, _, flagged, _ = world.say(ann, "s1", "Plums?", "> Ripe.", "Secret.", "> Hush.")
    world.build()
    assert leave_out(world)
    world.remember(ann, "s1", flagged, remembered=False)

    assert said(acting, ann) == [
        f"Leaves memory, at the next build. Chat history: {why}",
        "Not remembered, from the next build on",
    ]
    world.build()
    assert said(acting, ann) == [f"Not in memory. Chat history: {why}", "Not remembered, already out of memory"]


def test_a_forgotten_session_is_the_reason_whatever_the_flag(world: World, acting: Acting, ann: Store) -> None:
    _, _, flagged, _ = world.say(ann, "s1", "Plums?", "> Ripe.", "Secret.", "> Hush.")
    world.build()
    world.remember(ann, "s1", flagged, remembered=False)
    world.sql("insert into memory.tombstone (user_id, agent_id, session_id) values ('ann', 'orbitpilot', 's1')")

    assert said(acting, ann) == [
        "Leaves memory, at the next build. Its session was forgotten",
        "Not remembered, from the next build on. Its session was forgotten",
    ]
    world.build()
    assert said(acting, ann) == [
        "Not in memory. Its session was forgotten",
        "Not remembered, already out of memory. Its session was forgotten",
    ]


def test_a_session_that_is_not_admitted_says_so_from_its_first_pair_on(
    world: World, acting: Acting, ann: Store
) -> None:
    world.say(ann, "s1", "Plums?", "> Ripe.")
    world.build()
    world.sql("update orbitpilot.session set channel = 'groupchat'")
    world.sql("insert into memory.admission_rule (kind, value) values ('channel', 'groupchat')")
    world.say(ann, "s1", "Pears?", "> Hard.")

    assert said(acting, ann) == ["Remembered", "Not in memory. Its session is not admitted to memory"]


def test_a_run_keeps_what_is_not_flagged_without_its_reply(world: World, acting: Acting, ann: Store) -> None:
    first, *_ = world.say(ann, "s1", "One.", "Two.", "Three.", "> All of them.")
    world.build()
    assert said(acting, ann) == ["Remembered", "Remembered", "Remembered"]
    world.remember(ann, "s1", first, remembered=False)
    assert said(acting, ann) == [
        "Not remembered, from the next build on",
        "Remembered",
        "Remembered. Its reply leaves memory at the next build",
    ]
    world.build()
    assert said(acting, ann) == [
        "Not remembered, already out of memory",
        "Remembered",
        "Remembered. Without its reply",
    ]
    world.remember(ann, "s1", first, remembered=True)
    assert said(acting, ann) == [
        "Remembered, from the next build on",
        "Remembered",
        "Remembered. With its reply from the next build on",
    ]


def test_a_flagged_message_without_words_leaves_with_the_reply_of_its_run(
    world: World, acting: Acting, ann: Store
) -> None:
    photo, *_ = world.say(ann, "s1", " ", "What is this?", "> A plum.")
    world.build()
    assert said(acting, ann) == ["Not in memory. No words in it", "Remembered"]
    world.remember(ann, "s1", photo, remembered=False)
    assert said(acting, ann)[0] == "Not remembered, from the next build on"
    world.build()
    assert said(acting, ann) == ["Not remembered, already out of memory", "Remembered. Without its reply"]


def test_a_reply_that_came_after_the_build_joins_at_the_next(world: World, acting: Acting, ann: Store) -> None:
    world.say(ann, "s1", "Plums?")
    world.build()
    world.say(ann, "s1", "> Ripe.")

    assert said(acting, ann) == ["Remembered. With its reply from the next build on"]


def test_an_edited_message_says_that_memory_has_an_earlier_text(world: World, acting: Acting, ann: Store) -> None:
    world.say(ann, "s1", "Plums?", "> Ripe.")
    world.build()
    world.sql("update orbitpilot.message set content = 'Pears?' where role = 'user'")
    assert said(acting, ann) == ["Remembered. With its latest text from the next build on"]
    world.build()
    assert said(acting, ann) == ["Remembered"]


def test_recalled_memory_is_not_remembered_again(world: World, acting: Acting, ann: Store) -> None:
    world.say(ann, "s1", f"{BEGIN}\nPlums are ripe.\n{END}")
    world.build()

    assert said(acting, ann) == ["Not in memory. Nothing new in it: it only quotes memory or the conversation"]


def test_a_session_that_contradicts_itself_keeps_what_it_had_and_takes_nothing_new(
    world: World, acting: Acting, ann: Store
) -> None:
    asked, _ = world.say(ann, "s1", "Plums?", "> Ripe.")
    world.build()
    world.say(ann, "s1", "Pears?", "> Hard.")
    world.sql("update orbitpilot.session set next_pair_index = 9")

    why = "Its session's data contradict each other; an administrator has to mend them"
    assert said(acting, ann) == ["Remembered", f"Not in memory. {why}"]
    world.remember(ann, "s1", asked, remembered=False)
    assert said(acting, ann)[0] == "Not remembered, from the next build on"


def test_a_message_off_the_branch_says_so(world: World, acting: Acting, ann: Store) -> None:
    world.say(ann, "s1", "Plums?", "> Ripe.")
    world.build()
    world.sql("update orbitpilot.message set is_active = false")
    assert said(acting, ann) == ["Leaves memory, at the next build. Off the conversation's current branch"]
    world.build()
    assert said(acting, ann) == ["Not in memory. Off the conversation's current branch"]


def test_a_deleted_neighbour_goes_on_standing_in_its_run(world: World, acting: Acting, ann: Store) -> None:
    first, *_ = world.say(ann, "s1", "One.", "Two.", "> Both.")
    world.remember(ann, "s1", first, remembered=False)
    world.build()
    world.sql("delete from orbitpilot.message where message_id = %s", first)

    assert said(acting, ann) == ["Remembered. Without its reply"]


def test_a_blink_has_the_same_words_under_its_own_eye(world: World, acting: Acting, ann: Store) -> None:
    world.record(ann, BLINKS, "b1", "Plums are ripe.")
    assert blink_said(acting, ann) == {"b1": "Remembered, from the next build on"}
    world.build()
    assert blink_said(acting, ann) == {"b1": "Remembered"}
    world.exclude(ann, BLINKS, "b1", excluded=True)
    assert blink_said(acting, ann) == {"b1": "Not remembered, from the next build on"}
    world.build()
    assert blink_said(acting, ann) == {"b1": "Not remembered, already out of memory"}
    world.exclude(ann, BLINKS, "b1", excluded=False)
    assert blink_said(acting, ann) == {"b1": "Remembered, from the next build on"}
    switch_source(world.connection, BLINKS, in_rag=False)
    assert blink_said(acting, ann) == {"b1": "Not in memory. Blinks: switched off by the administrator"}


def test_a_blink_caught_from_an_excluded_exchange_remains_under_its_own_eye(
    world: World, acting: Acting, ann: Store
) -> None:
    first, _, reply = world.say(ann, "s1", "One.", "Two.", "> Both.")
    catch(world, ann, reply)
    world.build()
    assert said(acting, ann) == ["Remembered", "Remembered"]
    world.remember(ann, "s1", first, remembered=False)

    remains = "The blink caught from it remains under its own eye"
    assert said(acting, ann) == [
        f"Not remembered, from the next build on. {remains}",
        f"Remembered. Its reply leaves memory at the next build. {remains}",
    ]
    assert blink_said(acting, ann) == {"b1": "Remembered"}
    world.exclude(ann, BLINKS, "b1", excluded=True)
    assert remains not in " ".join(said(acting, ann))


@pytest.mark.parametrize("turns", [1, 60])
def test_a_thread_costs_one_query_however_long(turns: int, world: World, acting: Acting, ann: Store) -> None:
    world.say(ann, "s1", *["Plums?", "> Ripe."] * turns)
    world.build()

    with acting("ann") as app:
        queries = counted_queries(app)
        found = labels_of(app, "ann", "orbitpilot", "s1")

    assert len(found) == turns
    assert len(queries) == 1


def test_the_notice_costs_one_query_and_none_with_facts_at_hand(world: World, acting: Acting, ann: Store) -> None:
    with acting("ann") as app:
        queries = counted_queries(app)
        facts = read_chat_source_facts(app, "ann")
        assert notice_for(app, "ann", facts) == notice_of(facts)
        assert notice_for(app, None) == GUEST_NOTICE
        assert len(queries) == 1
        assert notice_for(app, "ann").kind is NoticeKind.REMEMBERED
        assert len(queries) == 2


def test_another_persons_thread_has_no_labels(world: World, acting: Acting, ann: Store) -> None:
    world.account("bob")
    world.say(ann, "s1", "Plums?")

    with acting("bob") as app:
        assert labels_of(app, "ann", "orbitpilot", "s1") == {}
        assert labels_of(app, "bob", "orbitpilot", "s1") == {}
        assert record_labels_of(app, "ann", "orbitpilot", BLINKS) == {}
