"""The marks of citations and widgets that ChatGPT, and LibreChat after it, write into replies.

They are of private characters: a mark begins with U+E200, ends with U+E201, and has a kind and fields parted by U+E202,
as a rule references to what was searched. U+E203 to U+E206 only say to which words the next mark belongs. A reader sees
a link or a picture instead, and words only where a mark names something.
"""

import re

from orbit_pipelines.history.formats.content import as_list, as_word
from orbit_pipelines.history.json_text import decode
from orbit_pipelines.history.stream import Problems

_ANY = re.compile("[\ue200-\ue206]")
_MARK = re.compile(
    "(?<![ \t])(?P<space>[ \t]*+)"
    "(?:\ue200(?P<body>[^\ue200\ue201]*)\ue201"
    # One that isn't closed: the reply was cut short.
    "|\ue200[a-z_]*(?:\ue202[^\\s\ue200-\ue206]*)*"
    "|\ue202(?:turn[0-9]+[a-z]+[0-9]+)?)"
    "|[\ue201\ue203-\ue206]"
)
_REFERENCE = re.compile(r"(?:turn[0-9]++[a-z_]++[0-9]++|[\s,;|L0-9-])*+", re.IGNORECASE)
_WORDLESS = frozenset(
    {
        "businesses_map",
        "cite",
        "filecite",
        "finance",
        "forecast",
        "genui",
        "i",
        "image_group",
        "memcite",
        "navlist",
        "product",
        "products",
        "schedule",
        "standing",
        "video",
    }
)
"""Marks of pictures, lists of links and the like; one of any other kind that has words is reported."""

_NAMING = frozenset({"entity", "product_entity"})


def without_citation_marks(reply: str, where: str, problems: Problems) -> str:
    """Return a reply as its reader sees it: without the marks, but with the words that some of them show."""
    if reply.isascii() or not _ANY.search(reply):
        return reply
    has_unknown = False

    def show(match: re.Match[str]) -> str:
        nonlocal has_unknown
        kind, *fields = (match["body"] or "").split("\ue202")
        words = _shown(kind, fields)
        if words:
            return (match["space"] or "") + words
        has_unknown = has_unknown or (
            kind not in _WORDLESS and any(not _REFERENCE.fullmatch(field) for field in fields)
        )
        return ""

    shown = _MARK.sub(show, reply)
    if has_unknown:
        problems.add("unknown_content", where, "a mark of a kind that isn't known here; it was left out")
    # The line breaks that parted a mark from the rest belonged to it.
    if _ANY.match(reply.lstrip()[:1]):
        shown = shown.lstrip("\n")
    if _ANY.match(reply.rstrip()[-1:]):
        shown = shown.rstrip("\n")
    return shown


def _shown(kind: str, fields: list[str]) -> str:
    """Return the words that a reader sees in the place of a mark: the name of a thing, the text of a link."""
    if kind == "url" and fields:
        label, *targets = fields
        address = next((target for target in targets if target.startswith(("https://", "http://"))), None)
        return f"{label} ({address})" if address and address != label else label
    if kind in _NAMING and fields:
        try:
            named = as_list(decode(fields[0]))
        except (ValueError, RecursionError):
            return ""
        return (as_word(named[1]) if len(named) > 1 else None) or ""
    return ""
