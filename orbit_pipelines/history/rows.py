"""Documents as rows: the conversations of a JSON file or of JSON lines, one at a time, whatever their format."""

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

from orbit_pipelines.errors import BrokenDocument, NoConversation, UnknownExportFormat
from orbit_pipelines.history.json_text import CHUNK, LARGEST_VALUE, JsonText, begins_object, decode_all
from orbit_pipelines.history.parquet import PARQUET_MAGIC, read_parquet
from orbit_pipelines.history.reading import PIPED, Document, Export, read_into_memory
from orbit_pipelines.history.sniffing import HEAD, describe_stranger
from orbit_pipelines.history.stream import Problems

ROWS_LOOKED_AT = 10_000
"""How far into an export its format is looked for. So many broken lines at its head, and it is no JSON lines at all."""

_LIST_KEY = "conversations"
_LIST_BEGINS = re.compile(r'"conversations"\s*:\s*\[')
_TURN_KEYS = frozenset({"role", "from"})
_HOLDERS = frozenset({"chat", "chat_messages", "conversation", "conversations", "history", "mapping", "messages"})
_OPENING = ("[", "{")


@dataclass(frozen=True, slots=True)
class Row:
    """One decoded item of an export, with words for where it stands.

    ``document`` counts the export's documents, for formats in which a document is one conversation; ``lost_lines`` is
    how many broken lines were left out right before it.
    """

    where: str
    value: object
    document: int = 0
    lost_lines: int = 0


class _Layout(Enum):
    LIST = auto()
    OBJECT = auto()
    LINES = auto()


def read_rows(export: Export, problems: Problems) -> Iterator[Row]:
    """Yield the items of every document of ``export``, in order, as ``read_document`` does."""
    for number in range(len(export.documents)):
        yield from read_document(export, number, problems)


def read_document(export: Export, number: int, problems: Problems, *, is_named: bool = False) -> Iterator[Row]:
    """Yield the items of one document of ``export``; broken lines are reported and left out.

    Args:
        export: what holds it.
        number: its place among the documents.
        problems: told of broken lines.
        is_named: whether somebody said what it holds: a good line is looked for to its end then.

    Raises:
        UnreadableExport: the document is cut short, not valid JSON, or its root is neither a list nor an object.
            Raised where that shows: the rows before it have been yielded by then.
        NoConversation: it is empty.
        UnknownExportFormat: it is neither JSON, nor lines of it, nor Parquet; what else it is is told where that shows.
    """
    document = export.documents[number]
    prefix = f"{document.name}, " if len(export.documents) > 1 else ""
    with document.open() as stream:
        buffered = io.BufferedReader(stream, CHUNK)
        if buffered.peek(4)[:4] == PARQUET_MAGIC:
            file = buffered if stream.seekable() else read_into_memory(document.name, buffered)
            for place, row in enumerate(read_parquet(document.name, file), start=1):
                yield Row(f"{prefix}row {place}", row, number)
            return
        if (stranger := describe_stranger(buffered.peek(HEAD)[:HEAD])) is not None:
            what, advice = stranger
            raise UnknownExportFormat(
                f"{document.name} is {what}, and no JSON, lines of JSON or Parquet, as conversations are. {advice}."
            )
        with _as_text(buffered) as text:
            yield from _read_text(document, number, text, problems, prefix, is_named=is_named)


def _read_text(
    document: Document, document_number: int, text: io.TextIOWrapper, problems: Problems, prefix: str, *, is_named: bool
) -> Iterator[Row]:
    head = text.read(CHUNK)
    is_whole = len(head) < CHUNK
    if is_whole and not head.strip():
        raise NoConversation(f"{document.name} is empty. {_advice(document)}")
    layout = _layout(head, is_whole=is_whole)
    if layout is _Layout.LINES:
        for where, value, lost_lines in _read_lines(document, text, head, prefix, problems, is_named=is_named):
            yield Row(where, value, document_number, lost_lines)
        return
    whole = JsonText(document.name, text, head)
    for number, value in enumerate(_conversations(whole), start=1):
        yield Row(f"{prefix}conversation {number}", value, document_number)


def _advice(document: Document) -> str:
    if document.name == PIPED:
        return "Send an export into it, or name the file instead of -."
    return "Export or download it again."


# ---------------------------------------------------------------- bytes to text


def _as_text(buffered: "io.BufferedReader[io.RawIOBase]") -> io.TextIOWrapper:
    """Decode as the byte order mark says; without one as UTF-8, which JSON has to be."""
    is_wide = buffered.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return io.TextIOWrapper(buffered, "utf-16" if is_wide else "utf-8-sig", errors=_BROKEN_BYTES)


def _escape_broken_bytes(error: UnicodeError) -> tuple[str, int]:
    # NUL as JSON writes it: in a string it is replaced and reported like every NUL, anywhere else it is no JSON.
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\\u0000", error.end


_BROKEN_BYTES = "orbit_pipelines.broken_bytes"
codecs.register_error(_BROKEN_BYTES, _escape_broken_bytes)


# ---------------------------------------------------------------- the layout, told from the beginning of the text


def _layout(head: str, *, is_whole: bool) -> _Layout:
    text = head.lstrip()
    if text.startswith("["):
        line, _, rest = text.partition("\n")
        return _Layout.LINES if rest.strip() and _is_whole(line) else _Layout.LIST
    if not text.startswith("{"):
        return _Layout.LINES
    line, newline, rest = text.partition("\n")
    if _is_object(line):
        return _Layout.OBJECT if is_whole and not rest.strip() else _Layout.LINES
    if not newline:
        # One line, longer than what is in sight: the list of a whole export, or the first of many rows.
        return _Layout.OBJECT if is_whole or _LIST_BEGINS.search(text) else _Layout.LINES
    # An object spread over lines, or a broken first line before whole ones.
    others = [other for other in rest.split("\n")[: None if is_whole else -1] if other.strip()]
    if (others and all(map(_is_object, others))) or not begins_object(text):
        return _Layout.LINES
    return _Layout.OBJECT


def _is_object(line: str) -> bool:
    try:
        return all(isinstance(value, dict) for value in decode_all(line))
    except (ValueError, RecursionError):
        return False


def _is_whole(line: str) -> bool:
    try:
        return bool(decode_all(line))
    except (ValueError, RecursionError):
        return False


# ---------------------------------------------------------------- rows of each layout


def _conversations(whole: JsonText) -> Iterator[object]:
    """Yield the conversations of every value of a text: one as a rule, but files are put together carelessly."""
    while True:
        yield from _conversations_of_list(whole) if whole.next_character() == "[" else _conversations_of_object(whole)
        if whole.next_character() not in _OPENING:
            break
    whole.expect_end()


def _conversations_of_list(whole: JsonText) -> Iterator[object]:
    """Yield the items of a list; a list of turns is one conversation."""
    start = whole.position
    items = whole.list_items()
    turns = list(islice(items, 1))
    if not any(map(_is_turn, turns)):
        yield from turns
        yield from items
        return
    for item in items:
        turns.append(item)
        whole.expect_within(start)
    yield _of_turns(turns)


def _is_turn(item: object) -> bool:
    return isinstance(item, dict) and bool(item.keys() & _TURN_KEYS) and not item.keys() & _HOLDERS


def _of_turns(turns: list[object]) -> object:
    """Return the conversation that a bare list of turns is, under the key that their style has for it."""
    is_plain = any(isinstance(turn, dict) and "role" in turn for turn in turns)
    return {"messages" if is_plain else _LIST_KEY: turns}


def _conversations_of_object(whole: JsonText) -> Iterator[object]:
    """Yield the items of the root's list of conversations, or else the root itself, which is one conversation."""
    root: dict[str, object] = {}
    has_list = False
    start = whole.position
    for key in whole.object_keys():
        if key != _LIST_KEY or whole.next_character() != "[":
            value = whole.value()
            if not has_list:
                root[key] = value
                whole.expect_within(start)
            continue
        turns: list[object] = []
        for item in whole.list_items():
            # A list of turns belongs to the root; a list of anything else is a list of conversations.
            if isinstance(item, dict) and item.keys() & _TURN_KEYS:
                turns.append(item)
                whole.expect_within(start)
            else:
                has_list = True
                yield item
        root[key] = turns
    if not has_list:
        yield root


def _read_lines(
    document: Document, text: io.TextIOWrapper, head: str, prefix: str, problems: Problems, *, is_named: bool
) -> Iterator[tuple[str, object, int]]:
    """Yield the values of the lines, each with how many broken ones stand before it.

    Of a document without a good line no line is reported: it isn't of lines.
    """
    good = broken = lost = 0
    unreported: Problems | None = Problems(problems.keep)
    for number, line in enumerate(_lines(text, head), start=1):
        if not line.strip():
            continue
        values, fault = _decode_line(line)
        if fault is None:
            good += 1
            if unreported is not None:
                problems.take(unreported)
                unreported = None
            for value in values:
                yield f"{prefix}line {number}", value, lost
                lost = 0
            continue
        broken += 1
        lost += 1
        (unreported or problems).add("broken_line", f"{prefix}line {number}", f"{fault}; skipped")
        if not good and broken == ROWS_LOOKED_AT and not is_named:
            break
    if not good and not head.strip("\0"):
        raise BrokenDocument(
            f"{document.name} holds NUL bytes and no data, as a download or a copy leaves it that broke off. "
            f"{_advice(document)}"
        )
    if not good:
        raise UnknownExportFormat(
            f"{document.name} is neither a zip, nor JSON, nor lines of JSON. Name the file that the product's own "
            "export gave you."
        )


def _decode_line(line: str) -> tuple[list[object], str | None]:
    """Return the conversations of a line, one as a rule, or what is wrong with it."""
    if len(line) > LARGEST_VALUE:
        return [], f"longer than {LARGEST_VALUE:,} characters"
    try:
        values = decode_all(line)
    except RecursionError:
        return [], "nested too deeply"
    except ValueError:
        return [], "not a whole JSON value"
    conversations: list[object] = []
    for value in values:
        if isinstance(value, list) and value and not _is_turn(value[0]):
            conversations += value
        else:
            conversations.append(_of_turns(value) if isinstance(value, list) and value else value)
    return conversations, None


def _lines(text: io.TextIOWrapper, head: str) -> Iterator[str]:
    """Yield the lines; of one that is too long only its beginning, which is longer than allowed."""
    *lines, last = head.split("\n")
    yield from lines
    line = last + text.readline(LARGEST_VALUE + 1)
    while line:
        yield line
        while line and line[-1] != "\n":
            line = text.readline(CHUNK)
        line = text.readline(LARGEST_VALUE + 1)
