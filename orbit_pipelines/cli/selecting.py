"""The selectors of sessions and records, as options that `orbit forget` and `orbit verify` share."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from orbit_pipelines.cli.options import parse_known_id
from orbit_pipelines.forgetting.selection import Selectors

_RECORD = "--record"


class SelectingCommand(TyperCommand):
    """A command whose ``--record`` takes two values and may be given again: more than typer itself knows.

    No option is taken for the value of another: a shell drops a variable that is empty, and what would be left of
    ``--session $ID --dry-run`` forgets a session of that name in earnest.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with each record's two values as one."""
        options = {name: not getattr(each, "is_flag", True) for each in self.params for name in each.opts}
        refuse_options_as_values(args, options)
        return super().parse_args(ctx, fold_records(args))


def refuse_options_as_values(arguments: Sequence[str], options: Mapping[str, bool]) -> None:
    """Refuse values that begin with a dash, where they don't stand in one word with their option.

    Args:
        arguments: as they were typed.
        options: the command's, each with whether it takes a value.

    Raises:
        typer.BadParameter: a value is missing, or looks like an option.
    """
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            return
        name, is_joined, _ = argument.partition("=")
        if not options.get(name):
            continue
        # A record's id has no word of its own with its option: it may begin with a dash, but be no option.
        values = [next(remaining, None) for _ in range((name == _RECORD) + (not is_joined))]
        for value in values:
            if value is None:
                continue  # typer says that it is missing
            if value.partition("=")[0] in options or (value.startswith("-") and not is_joined):
                raise typer.BadParameter(
                    f"{value!r} stands where a value should: is a variable empty? A value that begins with a dash is "
                    f"given as {name}=VALUE.",
                    param_hint=name,
                )


def fold_records(arguments: Sequence[str]) -> list[str]:
    """Return arguments with ``--record SOURCE ID`` as one option with one value.

    Raises:
        typer.BadParameter: one of the two values is missing.
    """
    folded: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            return [*folded, argument, *remaining]
        if argument != _RECORD and not argument.startswith(f"{_RECORD}="):
            folded.append(argument)
            continue
        source = argument.removeprefix(f"{_RECORD}=") if argument != _RECORD else next(remaining, None)
        record_id = next(remaining, None)
        if source is None or record_id is None:
            raise typer.BadParameter("It takes two values: --record SOURCE ID.", param_hint="--record")
        folded.append(f"{_RECORD}={json.dumps([source, record_id])}")
    return folded


def _parse_record(folded: str) -> str:
    for value in json.loads(folded):
        parse_known_id(value)
    return folded


Agent = Annotated[
    str | None,
    typer.Option(
        "--agent", metavar="AGENT", parser=parse_known_id, help="Which assistant's memory of them; default: orbitpilot."
    ),
]
Sessions = Annotated[
    list[str] | None,
    typer.Option("--session", metavar="ID", parser=parse_known_id, help="This session, by its exact id."),
]
Participants = Annotated[
    list[str] | None,
    typer.Option(
        "--participant", metavar="ACTOR", parser=parse_known_id, help="Sessions that recorded this actor id; exact."
    ),
]
HookSources = Annotated[
    list[str] | None,
    typer.Option("--hook-source", metavar="NAME", parser=parse_known_id, help="Sessions of this hook; exact."),
]
Records = Annotated[
    list[str] | None,
    typer.Option(_RECORD, metavar="SOURCE ID", parser=_parse_record, help="This record: its source's key, its id."),
]
Account = Annotated[bool, typer.Option("--account", help="Everything of this person, every agent's.")]
Since = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Only sessions that began then or later, such as 2026-03-01T00:00:00Z; unknown ids all the same.",
    ),
]


def selectors_from(
    user: str,
    agent: str | None,
    sessions: list[str] | None,
    participants: list[str] | None,
    hook_sources: list[str] | None,
    records: list[str] | None,
    account: bool,
    since: str | None,
) -> Selectors:
    """Return what the options select.

    Raises:
        UsageError: they name nothing, contradict each other, or give a time without an offset.
    """
    return Selectors(
        user_id=user,
        agent_id=agent,
        sessions=tuple(sessions or ()),
        participants=tuple(participants or ()),
        hook_sources=tuple(hook_sources or ()),
        records=tuple((source, record_id) for source, record_id in map(json.loads, records or ())),
        account=account,
        since=None if since is None else _parse_time(since),
    )


def _parse_time(given: str) -> datetime:
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise typer.BadParameter(
            f"{given!r} is no time: write it as 2026-03-01T00:00:00Z.", param_hint="--since"
        ) from None
