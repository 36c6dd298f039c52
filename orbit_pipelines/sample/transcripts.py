"""The sample conversations as people write them: one readable text file each, in ``conversations/``.

A file starts with ``key: value`` lines (``title``, ``started``, ``model``, ``do-not-remember``) and goes on with turns,
each under a line such as ``=== user``, ``=== tool python`` or ``=== assistant to=python``. After the role may stand:

    #label            a name that keeps the turn's id when turns before it come or go
    instead-of=LABEL  the turn is a sibling of the labelled one and leaves it, and what followed, off the branch
    at=TIME           the turn was sent then; without it, a little after the turn before
    untimed           the export knows no time of it
    hidden            the application didn't show it
    interrupted       the reply stopped in the middle
    type=TYPE         the content type, ``text`` unless said otherwise
    to=RECIPIENT      an assistant's call of a tool; its content is ``code`` unless said otherwise
    images=N, voice   what a ``multimodal_text`` holds besides, or instead of, its text
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

TURN = "=== "


@dataclass(frozen=True, slots=True)
class Turn:
    """One node to be: ``label`` is unique in its transcript, ``replaces`` another turn's label."""

    role: str
    text: str
    label: str
    name: str | None
    content_type: str
    recipient: str
    replaces: str | None
    sent_at: datetime | None
    images: int
    is_voice: bool
    is_hidden: bool
    is_interrupted: bool


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation; ``key`` names it for ever, its ids are derived from it."""

    key: str
    title: str | None
    started_at: datetime | None
    model: str
    is_do_not_remember: bool
    turns: tuple[Turn, ...]


def read_transcripts(folder: Path) -> list[Transcript]:
    """Return the transcripts of one person, in the order of their file names."""
    return [
        parse_transcript(f"{folder.name}/{path.stem}", path.read_text("utf-8")) for path in sorted(folder.glob("*.txt"))
    ]


def parse_transcript(key: str, text: str) -> Transcript:
    """Return the conversation that the text of one file describes."""
    preamble, *blocks = f"\n{text}".split(f"\n{TURN}")
    fields = {name: value for name, _, value in (line.partition(": ") for line in preamble.splitlines()) if name}
    started_at = None if fields["started"] == "null" else datetime.fromisoformat(fields["started"])
    return Transcript(
        key=key,
        title=None if fields["title"] == "null" else fields["title"],
        started_at=started_at,
        model=fields["model"],
        is_do_not_remember=fields.get("do-not-remember") == "yes",
        turns=tuple(_turns(blocks, started_at)),
    )


def _turns(blocks: list[str], clock: datetime | None) -> Iterator[Turn]:
    for ordinal, block in enumerate(blocks):
        head, _, text = block.partition("\n")
        text = text.strip("\n")
        role, *words = head.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        marks = {word for word in words if "=" not in word}
        labels = [mark[1:] for mark in marks if mark.startswith("#")]
        names = marks - {"untimed", "hidden", "interrupted", "voice"} - {f"#{label}" for label in labels}
        if "at" in options:
            clock = datetime.fromisoformat(options["at"])
        elif clock:
            clock += _pause_before(role, text)
        yield Turn(
            role=role,
            text=text,
            label=labels[0] if labels else str(ordinal),
            name=names.pop() if names else None,
            content_type=options.get("type", "code" if "to" in options else "text"),
            recipient=options.get("to", "all"),
            replaces=options.get("instead-of"),
            sent_at=None if marks & {"untimed", "hidden"} else clock,
            images=int(options.get("images", 0)),
            is_voice="voice" in marks,
            is_hidden="hidden" in marks,
            is_interrupted="interrupted" in marks,
        )


def _pause_before(role: str, text: str) -> timedelta:
    """Return how long the turn took: people read and type, programs answer."""
    return timedelta(seconds=40 + len(text) / 6) if role == "user" else timedelta(seconds=2 + len(text) / 90)
