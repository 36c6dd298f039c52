"""Options that many commands share, said once."""

from typing import Annotated
from unicodedata import category

import typer

LONGEST_ID = 256
"""Characters of an id that is made up here; an application may have stored longer ones."""

MOST_SOURCES = 2**31 - 1
"""The most that a PostgreSQL integer holds."""


def parse_known_id(given: str) -> str:
    """Return an id that a file or an application brought, if it can be one; such an id may hold whatever that had.

    Raises:
        typer.BadParameter: it is empty, or no text.
    """
    if not given.strip():
        raise typer.BadParameter("It can't be empty.")
    if "\0" in given:
        raise typer.BadParameter("It can't hold NUL.")
    return parse_text(given)


def parse_short_id(given: str) -> str:
    """Return a value that is kept as it is given and compared with such ids, if it can be.

    Raises:
        typer.BadParameter: it is empty, too long, or no text.
    """
    if len(given) > LONGEST_ID:
        raise typer.BadParameter(f"It can have {LONGEST_ID} characters at most; this has {len(given):,}.")
    return parse_known_id(given)


def parse_id(given: str) -> str:
    """Return an id or key that a person makes up, if it can be one.

    Raises:
        typer.BadParameter: it is empty, too long, no text, or holds a line break or another control character.
    """
    if any(category(letter) in ("Cc", "Zl", "Zp") for letter in given):
        raise typer.BadParameter("It can't hold line breaks or other control characters.")
    return parse_short_id(given)


def parse_text(given: str) -> str:
    """Return a text, if it is one: arguments that aren't UTF-8 come as half characters, which no database takes.

    Raises:
        typer.BadParameter: it isn't UTF-8.
    """
    if any(category(letter) == "Cs" for letter in given):
        raise typer.BadParameter("It isn't UTF-8.")
    return given


UserArgument = Annotated[str, typer.Argument(metavar="USER", parser=parse_id, help="The account's user id.")]
User = Annotated[
    str, typer.Option("--user", metavar="USER", parser=parse_id, help="Whose memory: the account's user id.")
]
Users = Annotated[
    list[str] | None,
    typer.Option(
        "--user", metavar="USER", parser=parse_id, help="Build this person's memory only; may be given again."
    ),
]
Agent = Annotated[
    str, typer.Option("--agent", metavar="AGENT", parser=parse_id, help="Which assistant's memory of that person.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts, and nothing else.")]
Session = Annotated[str, typer.Argument(metavar="SESSION", parser=parse_known_id, help="The session's id.")]
Message = Annotated[
    str,
    typer.Argument(metavar="MESSAGE", parser=parse_known_id, help="The message's own id, as `orbit pairs` shows it."),
]
Plan = Annotated[str, typer.Argument(metavar="PLAN", parser=parse_id, help="The plan's key.")]
Source = Annotated[
    str, typer.Argument(metavar="SOURCE", parser=parse_id, help="The source's key, such as orbitpilot.chat_history.")
]
RecordId = Annotated[str, typer.Argument(metavar="RECORD", parser=parse_id, help="The record's id within its source.")]
