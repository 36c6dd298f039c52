"""From selectors to the sessions and records they name, as the database has them at one moment. Reads only."""

from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import UnknownAccount
from orbit_pipelines.forgetting.selection import SelectedRecord, SelectedSession, Selection, Selectors


def resolve(connection: psycopg.Connection[Any], selectors: Selectors) -> Selection:
    """Return what selectors select now.

    Ids are compared byte for byte, and no text is searched.

    Raises:
        UnknownAccount: there is no such account, and memory doesn't know it either.
    """
    if not selectors.account:
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
        if selectors.since is not None and started_at is None:
            undated.append(session_id)
        elif selectors.since is None or started_at >= selectors.since:
            sessions.append(SelectedSession(agent_id, session_id))
            if not is_known and session_id in selectors.sessions:
                unresolved.append(session_id)
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
