from datetime import UTC, datetime

from rich.console import Console

from orbit_pipelines.lineage.telling import story_table
from orbit_pipelines.lineage.why import Decision, EventKind, Story, StoryEvent
from orbit_pipelines.model import Reason, Store

AT = datetime(2026, 11, 2, 8, 30, tzinfo=UTC)


def shown(story: Story) -> str:
    console = Console(width=120)
    with console.capture() as capture:
        console.print(story_table(story))
    return capture.get()


def test_a_story_is_shown_as_an_answer_and_a_row_for_each_decision() -> None:
    story = Story(
        Store("mara"),
        "garden",
        "u1",
        "user",
        True,
        None,
        1,
        decision=Decision(Reason.NOT_REMEMBERED, 4, AT),
        events=(
            StoryEvent(3, 3, AT, EventKind.ADDED, Reason.NEW_PAIR, 1, ("a1" * 32,)),
            StoryEvent(4, 4, AT, EventKind.SKIPPED, Reason.NOT_REMEMBERED),
        ),
    )

    lines = shown(story).splitlines()

    assert lines[0] == "Not in memory: not_remembered, decided by build 4 on 2026-11-02 08:30:00."
    assert lines[1] == "Pair 1 (garden:1), 0 chunks in memory."
    assert any("a1a1a1a1a1a1" in line and "new_pair" in line for line in lines)
    assert any("skipped" in line and "not_remembered" in line for line in lines)


def test_a_story_without_decisions_is_its_answer() -> None:
    assert shown(Story(Store("mara"), "garden", "u1", "user", True, None, 1)).splitlines() == [
        "Not in memory: no build has decided yet.",
        "Pair 1 (garden:1), 0 chunks in memory.",
    ]
