import pytest

from orbit_pipelines.history.formats.lost_questions import A_QUESTION, LostQuestions
from orbit_pipelines.history.stream import Role


@pytest.mark.parametrize(
    ("before", "goes_on", "needed"),
    [(None, False, 1), ("assistant", False, 1), ("user", False, 2), ("assistant", True, A_QUESTION)],
)
def test_a_reply_is_lost_behind_as_many_entries_as_could_hold_its_question(
    before: Role | None, goes_on: bool, needed: int
) -> None:
    for unread in range(A_QUESTION + 1):
        lost = LostQuestions()
        lost.pass_over(unread)
        assert lost.has_gap == (unread > 0)
        assert lost.loses("assistant", before, goes_on=goes_on) == (unread >= needed)
        assert not lost.has_gap


def test_all_replies_are_lost_until_the_next_question() -> None:
    lost = LostQuestions()
    lost.pass_over()
    assert [lost.loses(role, "assistant") for role in ("assistant", "assistant", "user", "assistant")] == [
        True,
        True,
        False,
        False,
    ]
