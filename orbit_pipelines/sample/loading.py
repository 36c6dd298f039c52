"""Filling an installation with the sample: each person once, and never again what has been changed or deleted since."""

from dataclasses import dataclass
from importlib.resources import as_file
from typing import Any

import psycopg

from orbit_pipelines.history.accounts import create_account
from orbit_pipelines.history.flags import set_record_excluded, set_remembered
from orbit_pipelines.history.formats.registry import read_sessions
from orbit_pipelines.history.importing import ImportResult, import_sessions
from orbit_pipelines.history.reading import open_export
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.model import Store
from orbit_pipelines.sample.installation import (
    FOLDER,
    SampleAccount,
    SampleInstallation,
    SamplePlan,
    SampleRecord,
    read_installation,
)
from orbit_pipelines.sources.administration import assign_source, create_plan
from orbit_pipelines.sources.records import put_record


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What this loading stored: nothing for people who were there before.

    ``not_remembered`` counts flagged messages, those of a conversation marked in its export included; ``problems`` is
    what the readers of the files came across.
    """

    accounts: tuple[str, ...]
    sessions: int
    pairs: int
    records: int
    not_remembered: int
    problems: Problems


def load_sample(conn: psycopg.Connection[Any], hash_key: bytes) -> SampleResult:
    """Store the sample's people with their plans, histories and records, all or nothing.

    Somebody who has an account, or had one once, is left alone, whatever the account holds now.

    Args:
        conn: inside the caller's transaction it is a savepoint, and the caller commits.
        hash_key: the installation's key; sessions without an id are named with it.
    """
    described = read_installation()
    problems = Problems()
    with conn.transaction():
        newcomers = [account for account in described.accounts if not _was_here(conn, account.user_id)]
        imports = [_settle(conn, described, account, hash_key, problems) for account in newcomers]
        user_ids = {account.user_id for account in newcomers}
        records = [record for record in described.records if record.user_id in user_ids]
        for record in records:
            _put(conn, record)
        flags = [message for message in described.not_remembered if message.user_id in user_ids]
        for message in flags:
            set_remembered(conn, Store(message.user_id), message.session_id, message.message_id, remembered=False)
    return SampleResult(
        accounts=tuple(account.user_id for account in newcomers),
        sessions=sum(each.sessions_new for each in imports),
        pairs=sum(each.pairs_new for each in imports),
        records=len(records),
        not_remembered=len(flags) + sum(each.flagged for each in imports),
        problems=problems,
    )


def _was_here(conn: psycopg.Connection[Any], user_id: str) -> bool:
    """Return whether there is such an account, or was: the pair ledger outlives it."""
    found = conn.execute(
        "select from orbitpilot.account where user_id = %(user_id)s"
        " union all select from memory.pair where user_id = %(user_id)s limit 1",
        {"user_id": user_id},
    )
    return found.rowcount > 0


def _settle(
    conn: psycopg.Connection[Any],
    described: SampleInstallation,
    account: SampleAccount,
    hash_key: bytes,
    problems: Problems,
) -> ImportResult:
    if account.plan_key is not None:
        _make_plan(conn, described.plan(account.plan_key))
    create_account(conn, account.user_id, plan_key=account.plan_key, locale=account.locale)
    with as_file(FOLDER.joinpath(account.file)) as path, open_export(path) as export:
        sessions = read_sessions(export, problems)
        return import_sessions(conn, Store(account.user_id), sessions, hash_key=hash_key)


def _make_plan(conn: psycopg.Connection[Any], plan: SamplePlan) -> None:
    # A plan that is there already has its administrator's word; ours doesn't count.
    if create_plan(conn, plan.plan_key, title=plan.title, included_sources=plan.included_sources):
        for source_key, is_visible in plan.assignments.items():
            assign_source(conn, plan.plan_key, source_key, is_visible=is_visible)


def _put(conn: psycopg.Connection[Any], record: SampleRecord) -> None:
    store = Store(record.user_id)
    put_record(
        conn,
        store,
        record.source_key,
        record.source_id,
        record.content,
        title=record.title,
        origin_session_id=record.origin_session_id,
        origin_message_id=record.origin_message_id,
        recorded_at=record.recorded_at,
    )
    if record.is_excluded:
        set_record_excluded(conn, store, record.source_key, record.source_id, excluded=True)
