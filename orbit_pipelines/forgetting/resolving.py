"""From selectors to the sessions and records they name, as the database has them at one moment. Reads only."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import OrbitError, UnknownAccount
from orbit_pipelines.forgetting.selection import SelectedRecord, SelectedSession, Selection, Selectors


class BuildFirst(OrbitError):
    """Memory can't tell yet what is a selected session's and what another one's that has its former name now."""


def resolve(connection: psycopg.Connection[Any], selectors: Selectors) -> Selection:
    """Return what selectors select now, also under the names it had before it was renamed or moved.

    Ids are compared byte for byte, and no text is searched.

    Raises:
        UnknownAccount: there is no such account, and memory doesn't know it either.
        BuildFirst: a session's former name is another session's now, and no build has followed that yet.
    """
    selection = _resolve_name(connection, selectors)
    accounts: list[str] = []
    if selectors.account or selectors.records:
        found = connection.execute(statement("find_former_accounts"), {"user": selectors.user_id})
        accounts = [row[0] for row in found]
    former = []
    for user_id in accounts:
        # All of a former account, or the records of the same name; its sessions are known by themselves.
        asked = replace(selectors, user_id=user_id, sessions=(), participants=(), hook_sources=(), since=None)
        each = _resolve_name(connection, asked, must_be_known=False)
        if not each.is_empty:
            former.append(each)
    for each in _former_sessions(connection, selection, () if not selectors.account else accounts):
        if each.user_id == selection.user_id and set(each.agents) <= set(selection.agents):
            selection = replace(
                selection,
                sessions=tuple(sorted({*selection.sessions, *each.sessions})),
                caught=tuple(sorted({*selection.caught, *each.caught} - {*selection.records})),
            )
        else:
            former.append(each)
    return replace(selection, former=tuple(former))


def _former_sessions(
    connection: psycopg.Connection[Any], selection: Selection, besides: Sequence[str]
) -> list[Selection]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    found = connection.execute(statement("find_former_sessions"), selection.parameters()).fetchall()
    for user_id, agent_id, session_id, is_taken, is_followed in found:
        if is_taken and not is_followed:
            raise BuildFirst(
                f"Session {session_id!r} was renamed or moved, and another session has its name now. Memory follows "
                "with the next build: run orbit build, then repeat this command. Nothing was changed."
            )
        if not is_taken and user_id not in besides:
            groups[user_id, agent_id].append(session_id)
    former = []
    for (user_id, agent_id), session_ids in groups.items():
        asked = Selectors(user_id, agent_id, sessions=tuple(session_ids))
        former.append(replace(_resolve_name(connection, asked, must_be_known=False), unresolved=()))
    return former


def _resolve_name(
    connection: psycopg.Connection[Any], selectors: Selectors, *, must_be_known: bool = True
) -> Selection:
    if must_be_known and not selectors.account:
        _require_known(connection, selectors.user_id)
    agent = selectors.store.agent_id
    who = {"user": selectors.user_id, "agent": agent, "is_account": selectors.account}
    found = connection.execute(
        statement("find_selected_sessions"),
        {
            **who,
            "sessions": list(selectors.sessions),
            "participants": list(selectors.participants),
            "hook_sources": list(selectors.hook_sources),
        },
    ).fetchall()
    sessions, undated, unresolved = [], [], []
    for agent_id, session_id, started_at, is_known in found:
        is_unknown = not is_known and session_id in selectors.sessions
        if is_unknown:
            # No session that could have begun before; what comes under this id later has to stay out as well.
            unresolved.append(session_id)
        elif selectors.since is not None and started_at is None:
            undated.append(session_id)
            continue
        if is_unknown or selectors.since is None or started_at >= selectors.since:
            sessions.append(SelectedSession(agent_id, session_id))
    records = connection.execute(
        statement("find_selected_records"),
        {
            **who,
            "session_agents": [session.agent_id for session in sessions],
            "session_ids": [session.session_id for session in sessions],
            "sources": [source for source, _ in selectors.records],
            "ids": [record_id for _, record_id in selectors.records],
        },
    ).fetchall()
    by_name = {SelectedRecord(*key) for how, *key, is_known in records if how == "named" and is_known}
    return Selection(
        user_id=selectors.user_id,
        sessions=tuple(sorted(sessions)),
        records=tuple(sorted(by_name)),
        caught=tuple(sorted({SelectedRecord(*key) for how, *key, _ in records if how == "caught"} - by_name)),
        unresolved=tuple(sorted(unresolved)),
        unresolved_records=tuple(
            sorted(SelectedRecord(*key) for how, *key, is_known in records if how == "named" and not is_known)
        ),
        undated=tuple(sorted(undated)),
        account=selectors.account,
        agents=_agents_of(connection, selectors.user_id) if selectors.account else (agent,),
    )


def _agents_of(connection: psycopg.Connection[Any], user_id: str) -> tuple[str, ...]:
    return tuple(row[0] for row in connection.execute(statement("find_stores_of_person"), {"user": user_id}))


def _require_known(connection: psycopg.Connection[Any], user_id: str) -> None:
    if connection.execute(statement("find_person"), {"user": user_id}).rowcount == 0:
        raise UnknownAccount(f"There is no account {user_id!r}, and memory knows nothing of it. Nothing was changed.")
