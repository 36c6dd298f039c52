"""The selectors of sessions and records, as options that `orbit forget` and `orbit verify` share."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from orbit_pipelines.cli.options import parse_known_id
from orbit_pipelines.forgetting.selection import Selectors

_RECORD = "--record"


class SelectingCommand(TyperCommand):
    """A command whose ``--record`` takes two values and may be given again: more than typer itself knows."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with each record's two values as one."""
        return super().parse_args(ctx, fold_records(args))


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
    typer.Option(metavar="TIME", help="Only sessions that began then or later, such as 2026-03-01T00:00:00Z."),
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
