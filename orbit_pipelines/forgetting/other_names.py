"""From the names of what is selected to all the names it had and has: which changes of names lead from one to another.

Memory has something under the name it had at the last build, and the next build under the one it has then. A name that
two things had since is nobody's: what memory has under it can't be told apart before a build.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement

Name = tuple[str, ...]
"""A key: of an account, a session or a record, with its user id first."""


@dataclass(frozen=True, slots=True)
class Change:
    """That something is called ``now``, and was called ``former``.

    ``is_taken``: another one is called so at present. ``is_gone``: what was renamed is deleted. ``is_reused``: another
    one was called ``former`` since, and is deleted. ``is_of_other``: it moved to another person. ``is_followed``: a
    build has been there since.
    """

    now: Name
    former: Name
    is_taken: bool = False
    is_gone: bool = False
    is_reused: bool = False
    is_of_other: bool = False
    is_followed: bool = False


class NameShared(Exception):
    """Memory has something under a name that means, or meant since, more than what is selected."""

    def __init__(self, name: Name) -> None:
        super().__init__(name)
        self.name = name


def read_changes(connection: psycopg.Connection[Any], what: str, names: Iterable[Name]) -> list[Change]:
    """Return every change that leads to or from the names, over any number of others.

    Args:
        connection: only read from.
        what: ``accounts``, ``sessions`` or ``records``.
        names: of that length.
    """
    given = sorted(set(names))
    if not given:
        return []
    columns = dict(zip(_COLUMNS[what], map(list, zip(*given, strict=True)), strict=True))
    rows = connection.execute(statement(f"find_names_of_{what}"), columns).fetchall()
    width = len(columns)
    return [Change(row[:width], row[width : 2 * width], *row[2 * width :]) for row in rows]


_COLUMNS = {
    "accounts": ("users",),
    "sessions": ("users", "agents", "sessions"),
    "records": ("users", "agents", "sources", "ids"),
}


def all_names(selected: Iterable[Name], changes: Sequence[Change]) -> set[Name]:
    """Return the names, those that the same things had before, and those they have now. Pure.

    A former name that another one has now is left out, and doesn't lead to what had it before; nor does one that
    several had, or something of another person once a build has followed it there.

    Raises:
        NameShared: memory still has under one of these names what isn't selected, or may have.
    """
    names = reach(selected, changes)
    by_former = _by_former(changes)
    for name, of_name in by_former.items():
        if all(change.is_followed for change in of_name):
            continue
        bearers = {change.now for change in of_name if not change.is_gone or change.now in names}
        if any(change.is_taken for change in of_name):
            bearers.add(name)
        if (name in names or bearers & names) and not bearers <= names:
            raise NameShared(name)
    return names


def reach(selected: Iterable[Name], changes: Sequence[Change]) -> set[Name]:
    """Return the same, whatever memory has under them."""
    names = set(selected)
    by_former = _by_former(changes)
    while True:
        found = {change.former for change in changes if _leads_back(change, names)}
        found |= {change.now for change in changes if _leads_on(change, by_former[change.former], names)}
        if found <= names:
            return names
        names |= found


def _by_former(changes: Iterable[Change]) -> dict[Name, list[Change]]:
    by_former = defaultdict(list)
    for change in changes:
        by_former[change.former].append(change)
    return by_former


def _leads_back(change: Change, names: set[Name]) -> bool:
    return change.now in names and not change.is_taken


def _leads_on(change: Change, of_name: Sequence[Change], names: set[Name]) -> bool:
    if change.former not in names or change.is_taken or change.is_gone or change.is_reused:
        return False
    if change.is_followed and change.is_of_other:
        return False
    return all(other.is_gone for other in of_name if other.now != change.now)
