from datetime import UTC, datetime

from orbit_pipelines.sample.transcripts import parse_transcript

TEXT = """\
title: Tea
started: 2026-01-05T08:00:00Z
model: gpt-5

=== system hidden

=== user #first
Black or green?

A line of three signs is text:
===

=== assistant to=python
print("green")

=== tool python type=execution_output
green

=== assistant #short interrupted
Gre

=== assistant instead-of=short at=2026-01-06T09:30:00Z
Green, at 80 °C.

Twice.
"""


def test_the_lines_before_the_first_turn_describe_the_conversation() -> None:
    transcript = parse_transcript("mara/tea", TEXT)
    assert (transcript.key, transcript.title, transcript.model) == ("mara/tea", "Tea", "gpt-5")
    assert transcript.started_at == datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert not transcript.is_do_not_remember


def test_a_turn_is_its_role_its_options_and_its_text() -> None:
    transcript = parse_transcript("mara/tea", TEXT)
    hidden, question, call, tool, short, answer = transcript.turns
    assert hidden.is_hidden
    assert hidden.text == ""
    assert question.label == "first"
    assert question.text.startswith("Black or green?\n\nA line")
    assert question.text.endswith("\n===")
    assert (call.recipient, call.content_type) == ("python", "code")
    assert (tool.role, tool.name, tool.content_type) == ("tool", "python", "execution_output")
    assert short.is_interrupted
    assert answer.replaces == "short"
    assert answer.text == "Green, at 80 °C.\n\nTwice."


def test_turns_follow_one_another_in_time_unless_they_say_when() -> None:
    turns = parse_transcript("mara/tea", TEXT).turns
    times = [turn.sent_at for turn in turns if turn.sent_at]
    assert turns[0].sent_at is None
    assert times == sorted(times)
    assert times[-1] == datetime(2026, 1, 6, 9, 30, tzinfo=UTC)


def test_a_conversation_without_a_start_has_no_times_at_all() -> None:
    transcript = parse_transcript("mara/tea", "title: null\nstarted: null\nmodel: m\n\n=== user\nHello\n")
    assert transcript.title is None
    assert [turn.sent_at for turn in transcript.turns] == [None]
