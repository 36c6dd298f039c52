"""The formats this program reads, recognised by what a file holds and never by its name."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path

from orbit_pipelines.errors import BrokenDocument, ImportFailed, NoConversation, UnknownExportFormat
from orbit_pipelines.history.formats import (
    chatgpt,
    claude,
    dataset_rows,
    librechat,
    openai_messages,
    openclaw,
    openwebui,
    sharegpt,
    slack,
)
from orbit_pipelines.history.formats.openclaw_index import Origins, read_index
from orbit_pipelines.history.formats.repeated_ids import RepeatedIds
from orbit_pipelines.history.formats.slack_workspace import Speakers, read_workspace
from orbit_pipelines.history.json_text import LARGEST_VALUE
from orbit_pipelines.history.reading import Export, is_expected, open_export
from orbit_pipelines.history.rows import ROWS_LOOKED_AT, Row, read_document
from orbit_pipelines.history.stream import ParsedSession, Problems, SessionStream

AUTO = "auto"

CHARACTERS_LOOKED_AT = LARGEST_VALUE
"""How much of an export is kept while its format is looked for, about: its first conversations may be broken."""


@dataclass(frozen=True, slots=True)
class Format:
    """One way of writing conversations down.

    ``recognises`` sees one row of an export and says whether only this format writes such; ``read`` turns rows into
    sessions, and reports what it leaves out. ``is_one`` says that the rows of a document belong together, as those of
    a transcript do: a stray one isn't another format's.
    """

    name: str
    title: str
    recognises: Callable[[object], bool]
    read: Callable[[Iterable[Row], Problems], Iterator[ParsedSession]]
    is_one: bool = False


FORMATS = {
    known.name: known
    for known in (
        Format("chatgpt", "ChatGPT data export", chatgpt.recognises, chatgpt.read),
        Format("claude", "Claude data export", claude.recognises, claude.read),
        Format("openclaw", "OpenClaw session transcript", openclaw.recognises, openclaw.read, is_one=True),
        Format("openwebui", "Open WebUI chat export", openwebui.recognises, openwebui.read),
        Format("librechat", "LibreChat conversation export", librechat.recognises, librechat.read),
        Format("openai-messages", "messages in the OpenAI style", openai_messages.recognises, openai_messages.read),
        Format("sharegpt", "turns in the ShareGPT style", sharegpt.recognises, sharegpt.read),
        Format("wildchat", "WildChat rows", dataset_rows.recognises_wildchat, dataset_rows.read),
        Format("lmsys", "LMSYS-Chat rows", dataset_rows.recognises_lmsys, dataset_rows.read),
        Format("slack", "Slack threads", slack.recognises, slack.read, is_one=True),
    )
}
"""By the name that ``--format`` takes, in the order in which they are tried."""


def read_sessions(
    export: Export, problems: Problems, *, format_name: str = AUTO, speakers: Speakers | None = None
) -> SessionStream:
    """Yield every conversation of ``export`` in file order, with what was left out in ``problems``.

    A conversation may come twice; the later one counts, and is reported where it says otherwise. Each document is
    recognised for itself, and so is a row of another format than those before it; a document among several that isn't
    recognised is reported and left out, unless its product is known to have it beside the conversations.

    Raises:
        UnknownExportFormat: the content, or ``format_name``, is none of ``FORMATS``.
        NoConversation: there is nothing in it to import.
        UnreadableExport: as ``read_document`` says.
        UnknownAssistant: ``speakers`` doesn't say what an export that only names its users needs to be told.
            All but a wrong ``format_name`` show only where they show: what was made of the sessions before must be
            undone.
    """
    if format_name not in (AUTO, *FORMATS):
        raise UnknownExportFormat(f"There is no format {format_name!r}. Known: {', '.join((AUTO, *FORMATS))}.")
    found = 0
    origins: Origins | None = None
    for name in export.nested:
        problems.add("unknown_document", name, "skipped: a zip in a zip; unpack it and import it by itself")
    repeated = RepeatedIds(problems)
    other: list[Format] = []
    for chosen, group in groupby(_rows_with_format(export, problems, format_name, other), key=itemgetter(0)):
        rows = repeated.follow(row for _, row in group)
        if chosen.name == "slack":
            sessions = slack.read(rows, problems, read_workspace(export, speakers or Speakers(), problems))
        elif chosen.name == "openclaw":
            origins = read_index(export, problems) if origins is None else origins
            sessions = openclaw.read(rows, problems, origins)
        else:
            sessions = chosen.read(rows, problems)
        for session in sessions:
            found += bool(session.messages)
            repeated.watch(session)
            yield session
    if not found:
        raise _no_conversation(export, problems, format_name, other)


def recognise(values: Iterable[object]) -> Format | None:
    """Return the format of the first of ``values`` that any format recognises."""
    return next((known for value in values for known in FORMATS.values() if known.recognises(value)), None)


def holds_conversations(path: str | Path) -> bool:
    """Say whether a file is of a format known here, or a zip."""
    try:
        with open_export(path) as export:
            name = export.documents[0].name
            return len(export.documents) > 1 or bool(_recognise(name, read_document(export, 0, Problems()), []))
    except ImportFailed:
        return False


def _rows_with_format(
    export: Export, problems: Problems, format_name: str, other: list[Format]
) -> Iterator[tuple[Format, Row]]:
    """Yield the rows, each with the format to read it as; ``other`` takes what one looks like that isn't as named."""
    unknown: list[ImportFailed] = []
    known = 0
    everything = replace(export, documents=export.documents + export.aside)
    for number, document in enumerate(everything.documents):
        is_aside = number >= len(export.documents)
        is_named = format_name != AUTO and not is_aside
        rows = read_document(everything if is_aside else export, number, problems, is_named=is_named)
        first: list[Row] = []
        try:
            chosen = _choose_format(document.name, rows, first, format_name, is_aside=is_aside)
        except (UnknownExportFormat, NoConversation, BrokenDocument) as error:
            if isinstance(error, BrokenDocument) and is_expected(document.name):
                raise
            unknown.append(error)
            if len(everything.documents) > 1 and not is_aside:
                problems.add("unknown_document", document.name, f"skipped: {_without_advice(error)}")
            continue
        known += 1
        for row in chain(first, rows):
            if format_name == AUTO and not chosen.is_one and not chosen.recognises(row.value):
                better = recognise([row.value])
                chosen = chosen if better is None or better.is_one else better
            elif (
                is_named
                and not other
                and not chosen.recognises(row.value)
                and (seen := recognise([row.value])) is not None
            ):
                other.append(seen)
            yield chosen, row
    if not known and not export.documents:
        raise UnknownExportFormat(
            f"{export.name} holds no conversations, only what products put beside them, such as {document.name}. "
            "Export again, with the conversations."
        )
    if not known:
        raise unknown[0]


def _choose_format(name: str, rows: Iterator[Row], first: list[Row], format_name: str, *, is_aside: bool) -> Format:
    """Return the format that a document is read as, moving the rows it took for that into ``first``."""
    if format_name == AUTO:
        return _recognise(name, rows, first)
    named = FORMATS[format_name]
    if is_aside and _recognise(name, rows, first) is not named:
        raise UnknownExportFormat(f"{name} holds another format.")
    first += islice(rows, 0 if is_aside else 1)
    return named


def _recognise(name: str, rows: Iterator[Row], first: list[Row]) -> Format:
    """Recognise a document, moving the rows it took for that into ``first``."""
    characters = 0
    for row in islice(rows, ROWS_LOOKED_AT):
        first.append(row)
        chosen = recognise([row.value])
        if chosen is not None:
            return chosen
        characters += _size(row.value)
        if characters > CHARACTERS_LOOKED_AT:
            break
    if not first:
        raise NoConversation(f"{name} holds an empty list and no conversation. Export again, or name another file.")
    seen = next((row.value for row in first if isinstance(row.value, dict)), None)
    if seen is None:
        raise NoConversation(f"{name} holds {_describe(first[0].value)}. Is it the right file?")
    known = "; ".join(f"{name} ({one.title})" for name, one in FORMATS.items())
    raise UnknownExportFormat(
        f"{name} is none of the formats known here: it holds {_describe(seen)}. "
        f"Known: {known}. If it is one of them all the same, name it with --format."
    )


def _size(value: object) -> int:
    """Return about how many characters a row has."""
    try:
        return len(json.dumps(value, default=str))
    except RecursionError:
        return CHARACTERS_LOOKED_AT


def _without_advice(error: ImportFailed) -> str:
    return str(error).partition(". ")[0]


def _no_conversation(export: Export, problems: Problems, format_name: str, other: Sequence[Format]) -> NoConversation:
    seen = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in problems.counts.items())
    advice = "Export again, or name another file."
    if format_name != AUTO and other:
        advice = (
            f"It was read as {format_name}, but looks like {other[0].name} ({other[0].title}): name that with "
            "--format, or leave --format out."
        )
    elif format_name != AUTO:
        advice = f"It was read as {format_name}; leave --format out to have its format looked for."
    return NoConversation(
        f"{export.name} holds no conversation with a message in it ({seen or 'nothing at all'}). {advice}"
    )


_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}")
_KEYS_SHOWN = 8


def _describe(value: object) -> str:
    """Say what a row is, by its kind and keys alone; a key that could be somebody's words isn't shown."""
    if not isinstance(value, dict):
        kinds = {str: "strings", list: "lists", bool: "booleans", int: "numbers", float: "numbers"}
        return f"{kinds.get(type(value), 'nothing but null')} where conversations should be"
    keys = [key for key in value if _PLAIN_KEY.fullmatch(key)]
    shown = ", ".join(keys[:_KEYS_SHOWN])
    more = len(value) - len(keys[:_KEYS_SHOWN])
    if not shown:
        return f"objects of {more} keys, none of them a plain word" if more else "an empty object"
    return f"objects with the keys {shown}" + (f" and {more} more" if more else "")
