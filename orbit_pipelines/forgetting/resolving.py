"""From selectors to the sessions and records they name, as the database has them at one moment. Reads only."""

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import astuple, replace
from typing import Any

import psycopg

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import OrbitError, UnknownAccount
from orbit_pipelines.forgetting.other_names import Change, Name, NameShared, all_names, reach, read_changes
from orbit_pipelines.forgetting.selection import SelectedRecord, SelectedSession, Selection, Selectors


class BuildFirst(OrbitError):
    """Memory can't tell yet what is of the selection, and what is another's that had one of its names since."""


def resolve(connection: psycopg.Connection[Any], selectors: Selectors) -> Selection:
    """Return what selectors select now, also under the names it had before it was renamed or moved, and has since.

    Ids are compared byte for byte, and no text is searched.

    Raises:
        UnknownAccount: there is no such account, and memory doesn't know it either.
        BuildFirst: one of the names is another's now, or was since, and no build has followed that yet.
    """
    found = [_resolve_name(connection, selectors)]
    if selectors.account:
        names, _ = _follow(connection, "accounts", [(selectors.user_id,)])
        for (user_id,) in sorted(names - {(selectors.user_id,)}):
            found.append(_resolve_name(connection, Selectors(user_id, account=True)))
    # All that is known of an account is selected with it.
    whole = {each.user_id for each in found if each.account}
    sessions = {(each.user_id, session.agent_id, session.session_id) for each in found for session in each.sessions}
    names, changes = _follow(connection, "sessions", sessions)
    renamed = {change.former for change in changes if change.now in names}
    unresolved = tuple(each for each in found[0].unresolved if (*_store_of(found[0]), each) not in renamed)
    found[0] = replace(found[0], unresolved=unresolved)
    by_store: dict[tuple[str, str], list[str]] = defaultdict(list)
    for user_id, agent_id, session_id in sorted(names - sessions):
        if user_id not in whole:
            by_store[user_id, agent_id].append(session_id)
    for (user_id, agent_id), session_ids in by_store.items():
        asked = Selectors(user_id, agent_id, sessions=tuple(session_ids))
        found.append(replace(_resolve_name(connection, asked, must_be_known=False), unresolved=()))
    found += _other_records(connection, found, whole)
    selection, *others = _joined(found)
    return replace(selection, former=tuple(others))


def _store_of(selection: Selection) -> tuple[str, str]:
    # Only where one agent's sessions are named can one be unknown.
    return selection.user_id, selection.agents[0] if selection.agents else ""


def _follow(
    connection: psycopg.Connection[Any], what: str, names: Iterable[Name]
) -> tuple[set[Name], Sequence[Change]]:
    changes = read_changes(connection, what, names)
    try:
        return all_names(names, changes), changes
    except NameShared as shared:
        raise BuildFirst(
            f"Memory can't tell yet what of {shared.name[-1]!r} is of this selection: the name was given up, and "
            f"another of the {what} has or had it since. Memory follows with the next build: run orbit build, then "
            "repeat this command. Nothing was changed."
        ) from None


def _other_records(
    connection: psycopg.Connection[Any], found: Iterable[Selection], whole: Container[str]
) -> list[Selection]:
    """Return the records of selections under their other names, of those that aren't an account's anyway."""
    named = {(each.user_id, *astuple(record)) for each in found for record in each.records}
    caught = {(each.user_id, *astuple(record)) for each in found for record in each.caught}
    names, changes = _follow(connection, "records", named | caught)
    others = sorted(name for name in names - named - caught if name[0] not in whole)
    of_named = reach(named, changes)
    return [
        Selection(
            name[0],
            (name[1],),
            records=(SelectedRecord(*name[1:]),) if name in of_named else (),
            caught=(SelectedRecord(*name[1:]),) if name not in of_named else (),
        )
        for name in others
    ]


def _joined(found: Iterable[Selection]) -> list[Selection]:
    """Return the selections with those joined that are about the same stores, in the same order."""
    joined: list[Selection] = []
    for each in found:
        for place, known in enumerate(joined):
            if known.user_id == each.user_id and set(each.agents) <= set(known.agents):
                records = {*known.records, *each.records}
                joined[place] = replace(
                    known,
                    sessions=tuple(sorted({*known.sessions, *each.sessions})),
                    records=tuple(sorted(records)),
                    caught=tuple(sorted({*known.caught, *each.caught} - records)),
                )
                break
        else:
            joined.append(each)
    return joined


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
