"""What text must be so that PostgreSQL and an embedder accept it, and nothing more.

NUL and lone halves of surrogate pairs become U+FFFD, one for one, so that a reader sees that something stood there.
Everything else stays as it was: no normalisation, no trimming, so that the same export gives the same text for ever.
"""

from orbit_pipelines.history.stream import Problems

LONGEST_ID = 256
"""Ids are keys, and an index row has a limit: what is longer than this is no id that a product would write."""


def clean_text(text: str) -> tuple[str, bool]:
    """Return ``text`` with what can't be stored replaced, and whether anything was."""
    cleaned = text.replace("\0", "\ufffd")
    try:
        cleaned.encode()
    except UnicodeEncodeError:
        # Halves that do belong together but came apart are joined again on the way.
        cleaned = cleaned.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return cleaned, cleaned != text


def storable(text: str, where: str, problems: Problems) -> str:
    """Return ``text`` cleaned; a text that had to be changed is reported as ``text_replaced`` at ``where``."""
    cleaned, is_changed = clean_text(text)
    if is_changed:
        problems.add("text_replaced", where, "characters that can't be stored were replaced by U+FFFD")
    return cleaned


def usable_id(value: object) -> str | None:
    """Return an export's own id as text, or None where it is missing, empty, too long or no id at all."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    if isinstance(value, int) and abs(value) >= 10**40:
        return None
    identifier, _ = clean_text(str(value))
    return identifier if 0 < len(identifier) <= LONGEST_ID and not identifier.isspace() else None
