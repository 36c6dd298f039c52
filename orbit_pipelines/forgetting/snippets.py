"""Exact texts of the selected sessions, to be looked for in files: read once, and before anything is deleted."""

import re
from collections.abc import Iterable
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.forgetting.selection import Selection

SHORTEST = 12
"""Characters a snippet must have: shorter ones stand in too much that has nothing to do with it."""

# The ends of lines as files have them; str.splitlines would also cut at form feeds and at U+2028.
_LINE_END = re.compile(r"\r\n|\r|\n")


def cut_snippets(texts: Iterable[str]) -> frozenset[str]:
    """Return the lines of some texts, without blanks around them, that are long enough. Pure."""
    lines = (line.strip() for text in texts for line in _LINE_END.split(text))
    return frozenset(line for line in lines if len(line) >= SHORTEST)


def read_snippets(connection: psycopg.Connection[Any], selection: Selection) -> frozenset[str]:
    """Return the snippets of the selected sessions' messages and of the chunks that memory has of them."""
    return cut_snippets(
        row[0]
        for each in selection.by_name
        for row in connection.execute(statement("read_selected_texts"), each.parameters())
    )


def find_elsewhere(
    connection: psycopg.Connection[Any], selection: Selection, snippets: Iterable[str]
) -> frozenset[str]:
    """Return which snippets also stand in sessions of the same stores that aren't selected."""
    asked = {**selection.parameters(), "snippets": sorted(snippets)}
    return frozenset(row[0] for row in connection.execute(statement("find_snippets_elsewhere"), asked))
