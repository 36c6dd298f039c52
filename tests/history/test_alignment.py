"""What is stored of a session beside what a file says of it."""

from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.history.alignment import Alignment, StoredTurn, align
from orbit_pipelines.history.stream import ParsedMessage, Role

turns = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from("abc")), max_size=9)


def stored_as(said: list[tuple[Role, str]]) -> list[StoredTurn]:
    """What a first import of ``said`` stores."""
    stored: list[StoredTurn] = []
    question = None
    for place, (role, content) in enumerate(said):
        number = None
        if role == "user":
            number = question = 0 if question is None else question + 1
        parent_id = f"m{place - 1}" if place else None
        answers = question if role == "assistant" else None
        stored.append(StoredTurn(f"m{place}", parent_id, role, content, True, number, answers))
    return stored


def messages(said: list[tuple[Role, str]]) -> list[ParsedMessage]:
    return [ParsedMessage(f"m{place}", None, role, content, place=place) for place, (role, content) in enumerate(said)]


def lay(before: list[tuple[Role, str]], after: list[tuple[Role, str]]) -> Alignment:
    return align(stored_as(before), messages(after))


@given(said=turns, more=turns)
def test_what_says_the_same_and_more_keeps_its_places(
    said: list[tuple[Role, str]], more: list[tuple[Role, str]]
) -> None:
    longer = [*said, *more]
    grown = lay(said, longer)
    assert grown.ids[: len(said)] == tuple(f"m{place}" for place in range(len(said)))
    assert not grown.left_behind
    assert grown.contradicting == 0
    older = lay(longer, said)
    assert older.ids == tuple(f"m{place}" for place in range(len(said)))
    assert not older.left_behind


@given(before=turns, after=turns)
def test_ids_are_given_once_and_never_to_another_role(
    before: list[tuple[Role, str]], after: list[tuple[Role, str]]
) -> None:
    stored = {turn.message_id: turn for turn in stored_as(before)}
    alignment = lay(before, after)
    assert len(set(alignment.ids)) == len(after)
    assert alignment.left_behind <= stored.keys() - set(alignment.ids)
    for message_id, (role, _) in zip(alignment.ids, after, strict=True):
        assert message_id not in stored or stored[message_id].role == role


@given(before=turns, after=turns)
def test_a_reply_that_is_kept_answers_the_question_it_answered(
    before: list[tuple[Role, str]], after: list[tuple[Role, str]]
) -> None:
    stored = {turn.message_id: turn for turn in stored_as(before)}
    question = None
    for message_id, (role, _) in zip(lay(before, after).ids, after, strict=True):
        turn = stored.get(message_id)
        if role == "user":
            question = (turn.pair_index if turn else None,)
        elif turn and question:
            assert (turn.answers,) == question


@given(before=turns, after=turns, number=st.integers(0, 3))
def test_ids_of_deleted_messages_are_not_given_again(
    before: list[tuple[Role, str]], after: list[tuple[Role, str]], number: int
) -> None:
    gone = StoredTurn(f"m{number}")
    stored = [turn for turn in stored_as(before) if turn.message_id != gone.message_id]
    assert gone.message_id not in align([*stored, gone], messages(after)).ids


def test_messages_with_an_id_of_their_own_are_told_by_it() -> None:
    stored = [
        StoredTurn("x", None, "user", "one", True, 0),
        StoredTurn("x~1", "x", "assistant", "two", True, None, 0),
    ]
    said = [
        ParsedMessage("y", None, "user", "new"),
        ParsedMessage("x", "y", "user", "edited"),
        ParsedMessage("x~1", "x", "assistant", "two", place=2),
    ]
    assert align(stored, said).ids == ("y", "x", "x~1")


def test_long_histories_that_repeat_themselves_are_laid_side_by_side() -> None:
    said: list[tuple[Role, str]] = [("assistant" if turn % 2 else "user", str(turn % 10)) for turn in range(4_000)]
    moved = lay(said, [*said[100:], ("user", "new")])
    assert moved.ids[-1] == "m4000"
    assert not moved.left_behind
