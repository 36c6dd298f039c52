"""The branch of a conversation's tree that is in view, for every format that keeps more than one.

Only a message's link to its parent is believed: lists of children are wrong or empty in many files, and times can be
missing. A tree is a mapping of keys to the key of the parent, None at a root; every parent is a key of the mapping.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime

from orbit_pipelines.history.text import usable_id

Parents = Mapping[str, str | None]

UNSAID = ""
"""What an entry that says nothing of a parent names as its parent; None is an entry that says it is a root."""

UNREAD = "\0"
"""What an entry that can't be read names as its parent; it tells nothing of how the others are linked."""

_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


def climb(parents: Parents, leaf: str) -> tuple[list[str], bool]:
    """Return the keys from the root down to ``leaf``, and whether a cycle had to be cut where it closes."""
    branch: list[str] = []
    seen: set[str] = set()
    key: str | None = leaf
    while key is not None and key not in seen:
        seen.add(key)
        branch.append(key)
        key = parents[key]
    branch.reverse()
    return branch, key is not None


def newest_leaf(
    parents: Parents, written_at: Callable[[str], datetime | None], candidates: Iterable[str] | None = None
) -> str | None:
    """Return the leaf whose branch was written to last; among equals the one the file has last.

    Args:
        parents: the tree.
        written_at: when a node was written; a leaf without a time has its nearest ancestor's.
        candidates: the keys that may be a leaf, in file order: those below which there is no other candidate.
            Every key, if left out.
    """
    among = list(parents if candidates is None else candidates)
    inner: set[str] = set()
    for key in among:
        parent = parents[key]
        while parent is not None and parent not in inner:
            inner.add(parent)
            parent = parents[parent]
    leaves = [key for key in among if key not in inner] or among
    last_written = _last_written(parents, written_at)
    ranked = [(last_written(key), place, key) for place, key in enumerate(leaves)]
    return max(ranked)[-1] if ranked else None


def link(entries: Iterable[tuple[str, str | None]]) -> tuple[dict[str, str | None], frozenset[str]]:
    """Return the tree of entries that stand in the order they were written, and the keys whose parent isn't there.

    An entry that says nothing of a parent, or can't be read, follows the one before it; so does one whose parent
    isn't in the file (a lost line, a head that was cut off), and others that name the same parent become its siblings.
    Where nobody names a parent that is there, and somebody says nothing, the order is all there is, and even roots
    follow.

    Args:
        entries: each one's key and its parent's name, None for a root, ``UNSAID`` or ``UNREAD``. A key that comes
            again is ignored.
    """
    named: dict[str, str | None] = {}
    for key, parent in entries:
        named.setdefault(key, parent)
    is_tree = UNSAID not in named.values() or any(parent in named for parent in named.values())
    parents: dict[str, str | None] = {}
    stand_ins: dict[str, str | None] = {}
    before: str | None = None
    missing: set[str] = set()
    for key, parent in named.items():
        if parent in (UNSAID, UNREAD) or not is_tree:
            parents[key] = before
        elif parent is None or parent in named:
            parents[key] = parent
        else:
            parents[key] = stand_ins.setdefault(parent, before)
            if before is not None:
                missing.add(key)
        before = key
    return parents, frozenset(missing)


def named_parent(entry: Mapping[str, object], field: str, roots: Collection[str], *, is_reply: bool) -> str | None:
    """Return what ``entry`` names as its parent, for ``link``.

    Args:
        entry: as the file has it.
        field: where it names its parent.
        roots: names that stand for no parent, besides null.
        is_reply: whether it answers something: it is no root then, whatever it says, unless nothing stands before it.
    """
    if field not in entry:
        return UNSAID
    named = entry[field]
    if named is None or (isinstance(named, str) and named in roots):
        return UNSAID if is_reply else None
    return usable_id(named) or UNSAID


def claimed_children(nodes: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Return who names whom as a child, by the child: to be asked only where a child's own link leads nowhere."""
    return {
        child: key
        for key, children in nodes
        if isinstance(children, list)
        for child in map(usable_id, children)
        if child is not None
    }


def _last_written(parents: Parents, written_at: Callable[[str], datetime | None]) -> Callable[[str], datetime]:
    """Return what tells the time of a key, or of its nearest ancestor that has one; no link is followed twice."""
    known: dict[str, datetime] = {}

    def last_written(leaf: str) -> datetime:
        path: list[str] = []
        found: datetime | None = None
        key: str | None = leaf
        while key is not None and found is None:
            if key in known:
                found = known[key]
                break
            known[key] = _LONG_AGO
            path.append(key)
            found = written_at(key)
            key = parents[key]
        known.update(dict.fromkeys(path, found or _LONG_AGO))
        return found or _LONG_AGO

    return last_written
