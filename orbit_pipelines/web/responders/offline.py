"""Replies without a language model: what memory and the running session have on a question, quoted, and no more.

All it says stands between the markers, so that no build learns any of it by way of the reply: a quotation may be of a
message that isn't to be remembered, and what it says of itself is no knowledge. Each block begins with its own heading.
"""

import re
from collections.abc import Iterator

from orbit_pipelines.history.recalled import cut, wrap
from orbit_pipelines.telling.wording import Wording
from orbit_pipelines.web.responders.protocol import Memory, Question, Turn

MOST_MEMORIES = 3
MOST_TURNS = 2
LONGEST_QUOTE = 400
SHORTEST_WORD = 4

_WORD = re.compile(r"\w+")


class OfflineResponder:
    """Quotes, and says that it is no language model."""

    def reply(self, question: Question) -> Iterator[str]:
        """Yield the reply, a block at a time."""
        say = Wording(question.language)
        nothing = None if question.memories else say("offline.nothing_in_memory")
        yield wrap("\n\n".join(filter(None, (say("offline.introduction"), question.note, nothing))))
        if question.memories:
            yield _quoted(
                say("offline.from_memory"), [_shown(memory, say) for memory in question.memories[:MOST_MEMORIES]]
            )
        if earlier := related_turns(question.thread):
            yield _quoted(say("offline.from_thread"), [f"– {_shortened(turn.text)}" for turn in earlier])


def related_turns(thread: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Return what the person said earlier in the session that shares most words with the question, in order."""
    if not thread:
        return ()
    *before, question = thread
    wanted = _words(question.text)
    shared = [(len(wanted & _words(turn.text)), place) for place, turn in enumerate(before) if turn.role == "user"]
    best = sorted((-count, -place) for count, place in shared if count)[:MOST_TURNS]
    return tuple(before[place] for place in sorted(-place for _, place in best))


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(cut(text).casefold()) if len(word) >= SHORTEST_WORD)


def _quoted(heading: str, quotes: list[str]) -> str:
    block = wrap("\n".join((heading, "\n\n".join(quotes))))
    return f"\n\n{block}"


def _shown(memory: Memory, say: Wording) -> str:
    return say("reason.of_source", source=say.source(memory.source_key), reason=_shortened(memory.text))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_QUOTE else f"{line[: LONGEST_QUOTE - 1]}…"
