"""JSON decoded value by value from a text of any length, in the memory of its largest value.

The standard library's scanner runs over a buffer that slides along the text. ijson, the usual answer, can't be trusted
with what people hand over: its C backend (3.6) turns half a surrogate pair into "?" or fails on it, and a number of
5,000 digits or deep nesting ends the whole process instead of raising.
"""

import json
import re
from collections.abc import Iterator
from enum import Enum, auto
from io import TextIOWrapper
from typing import NoReturn

from orbit_pipelines.errors import BrokenDocument

CHUNK = 2**20
"""Characters read at a time."""

DEEPEST = 50_000
"""How many levels a value may be nested: a tree of messages is nested twice as deeply as it is long."""

LARGEST_VALUE = 64 * 2**20
"""The most characters of JSON that one conversation may take: the one thing that is held in memory whole."""

_SPACE = re.compile(r"[ \t\n\r]*")
_CUT_TOKEN = re.compile(r"\\?[\w.+-]{0,16}")
"""What may stand between the place a scanner complains of and the end of a text: ``tru``, ``1e``, half an escape."""


def _bounded_int(digits: str) -> int | float:
    # Python refuses to convert very long ones, and nothing that is read here has them.
    return int(digits) if len(digits) < 1000 else float("inf")


# Not strict: a raw tab or line break in a string harms nobody.
_DECODER = json.JSONDecoder(strict=False, parse_int=_bounded_int)


def decode(text: str) -> object:
    """Return the one value that ``text`` is.

    Raises:
        ValueError: it is none, or more than one.
        RecursionError: it is nested more than ``DEEPEST`` levels.
    """
    try:
        value: object = _DECODER.decode(text)
    except RecursionError:
        value, end = _decode_deep(text, _after_space(text, 0))
        if _after_space(text, end) != len(text):
            raise json.JSONDecodeError("Extra data", text, end) from None
    return value


def decode_all(text: str) -> list[object]:
    """Return the values that stand in ``text``, one behind the other, with commas or nothing between them.

    Raises:
        ValueError: there is anything else in it, or what follows the first value is no object or list.
        RecursionError: a value is nested more than ``DEEPEST`` levels.
    """
    values: list[object] = []
    at = _after_space(text, 0)
    while at < len(text):
        if values and text[at] not in "[{":
            raise json.JSONDecodeError("Extra data", text, at)
        try:
            value, at = _DECODER.raw_decode(text, at)
        except RecursionError:
            value, at = _decode_deep(text, at)
        values.append(value)
        at = _after_space(text, at)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
    return values


def begins_object(text: str) -> bool:
    """Say whether ``text`` begins with an object, or could if more followed."""
    return _begins(text, dict)


def begins_list(text: str) -> bool:
    """Say whether ``text`` begins with a list, or could if more followed."""
    return _begins(text, list)


def _begins(text: str, kind: type) -> bool:
    value, _, fault = _scan(text, 0)
    return isinstance(value, kind) or fault in (_Fault.CUT_SHORT, _Fault.TOO_DEEP)


class _Fault(Enum):
    CUT_SHORT = auto()
    INVALID = auto()
    TOO_DEEP = auto()


def _scan(text: str, at: int) -> tuple[object, int, _Fault | None]:
    """Return the value that begins at ``at``, where it ends (``at`` if there is none), and what may be wrong.

    What is wrong is returned and not raised: the decoder's error holds the text, and nothing may hang on ours.
    """
    try:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except RecursionError:
            value, end = _decode_deep(text, at)
    except json.JSONDecodeError as error:
        return None, at, _Fault.CUT_SHORT if _lacks_its_end(error) else _Fault.INVALID
    except RecursionError:
        return None, at, _Fault.TOO_DEEP
    # A number that ends with the text may go on behind it.
    is_open = isinstance(value, int | float) and _CUT_TOKEN.fullmatch(text, end)
    return value, end, _Fault.CUT_SHORT if is_open else None


def _lacks_its_end(error: json.JSONDecodeError) -> bool:
    """Tell a text that ends too soon from one that is wrong: the scanner stops at the end, or in an open string."""
    return (
        error.msg.startswith("Unterminated string")
        or _CUT_TOKEN.fullmatch(error.doc, error.pos) is not None
        or not error.doc[error.pos :].strip()
    )


def _decode_deep(text: str, at: int) -> tuple[object, int]:
    """Decode as ``raw_decode`` does, with a stack of its own where that one would overflow the interpreter's."""
    root: list[object] = []
    open_values: list[list[object] | dict[str, object]] = [root]
    key = ""
    while True:
        # A value begins at ``at``; one that isn't empty stays open and asks for its first item.
        if text[at : at + 1] in ("[", "{"):
            if len(open_values) > DEEPEST:
                raise RecursionError
            opened: list[object] | dict[str, object] = [] if text[at] == "[" else {}
            _put(open_values[-1], key, opened)
            open_values.append(opened)
            at = _after_space(text, at + 1)
            if text[at : at + 1] != _CLOSING[type(opened)]:
                key, at = _key(text, at) if isinstance(opened, dict) else ("", at)
                continue
        else:
            scalar, at = _DECODER.raw_decode(text, at)
            _put(open_values[-1], key, scalar)
            if len(open_values) == 1:
                return root[0], at
            at = _after_space(text, at)
        while text[at : at + 1] == _CLOSING[type(open_values[-1])]:
            open_values.pop()
            at += 1
            if len(open_values) == 1:
                return root[0], at
            at = _after_space(text, at)
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _after_space(text, at + 1)
        key, at = _key(text, at) if isinstance(open_values[-1], dict) else ("", at)


_CLOSING = {list: "]", dict: "}"}


def _put(holder: list[object] | dict[str, object], key: str, value: object) -> None:
    if isinstance(holder, list):
        holder.append(value)
    else:
        holder[key] = value


def _key(text: str, at: int) -> tuple[str, int]:
    """Return the key that begins at ``at`` and the place of its value."""
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
    key, at = _DECODER.raw_decode(text, at)
    at = _after_space(text, at)
    if text[at : at + 1] != ":":
        raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
    return key, _after_space(text, at + 1)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


class JsonText:
    """One JSON text, read front to back."""

    def __init__(self, name: str, text: TextIOWrapper, head: str) -> None:
        """Read ``head``, already taken from ``text``, and then ``text``; ``name`` is for messages."""
        self._name = name
        self._text = text
        self._buffer = head
        self._at = 0
        self._characters_before = 0
        self._is_at_end = False

    @property
    def position(self) -> int:
        """How many characters of the text are behind."""
        return self._characters_before + self._at

    def list_items(self) -> Iterator[object]:
        """Yield the items of the list that begins here, each decoded when it is asked for."""
        self.take("[")
        if self.next_character() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if self.next_character() == "]":
                self.take("]")
                return
            self.take(",")

    def object_keys(self) -> Iterator[str]:
        """Yield the keys of the object that begins here; the caller takes each one's value before the next."""
        self.take("{")
        if self.next_character() == "}":
            self.take("}")
            return
        while True:
            if self.next_character() != '"':
                self._refuse()
            key = self.value()
            self.take(":")
            yield str(key)
            if self.next_character() == "}":
                self.take("}")
                return
            self.take(",")

    def value(self) -> object:
        """Decode the value that begins here, whole."""
        self.next_character()
        value, end, fault = _scan(self._buffer, self._at)
        while fault is _Fault.CUT_SHORT and not self._is_at_end:
            self._read_on()
            value, end, fault = _scan(self._buffer, self._at)
        if fault is _Fault.TOO_DEEP:
            raise BrokenDocument(f"{self._name} is nested too deeply after its first {self.position:,} characters.")
        # A number may end where the text does, but not in its middle: at a point, or an exponent's sign.
        if end == self._at or (fault is _Fault.CUT_SHORT and end < len(self._buffer)):
            self._refuse(is_short=fault is _Fault.CUT_SHORT)
        self._at = end
        return value

    def take(self, character: str) -> None:
        """Step over ``character``, which must come next."""
        if self.next_character() != character:
            self._refuse()
        self._at += 1

    def expect_end(self) -> None:
        """Refuse a text that goes on after its value."""
        if self.next_character():
            self._refuse()

    def expect_within(self, start: int) -> None:
        """Refuse a value that is kept whole, begins at ``start`` and has gone on for more than any may."""
        if self.position - start > LARGEST_VALUE:
            self._refuse_size()

    def next_character(self) -> str:
        """Return the next character that is no white space, without stepping over it; nothing at the end."""
        while True:
            match = _SPACE.match(self._buffer, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if self._is_at_end:
                return ""
            self._read_on()

    def _read_on(self) -> None:
        """Slide the buffer on, twice as far when one value fills it, so that decoding again costs little."""
        kept = self._buffer[self._at :]
        if len(kept) > LARGEST_VALUE:
            self._refuse_size()
        more = self._text.read(max(CHUNK, len(kept)))
        self._characters_before += self._at
        self._at = 0
        self._buffer = kept + more
        self._is_at_end = not more

    def _refuse_size(self) -> NoReturn:
        raise BrokenDocument(
            f"{self._name} holds a conversation of more than {LARGEST_VALUE:,} characters near character "
            f"{self.position:,}, the most that one may have."
        )

    def _refuse(self, *, is_short: bool = False) -> NoReturn:
        if is_short or not self.next_character():
            raise BrokenDocument(
                f"{self._name} is cut short: after {self._characters_before + len(self._buffer):,} characters it ends "
                "in the middle. Export or download it again."
            )
        raise BrokenDocument(
            f"{self._name} is not valid JSON after its first {self.position:,} characters. Export or download it again."
        )
