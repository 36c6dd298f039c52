"""The database's three roles: made and granted after every migration, and how a program takes one on.

``pipeline`` owns schemas, tables, sequences and functions. ``app`` reads and writes the rows of one person at a time.
``analyst`` reads everybody's keys and numbers, and no text. They are groups without a login; roles belong to the whole
cluster, so their names carry the database's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from orbit_pipelines.database.connection import connect, describe
from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import DatabaseUnavailable

PostgresConnection = psycopg.Connection[TupleRow]

LONGEST_NAME = 63
"""Bytes of a PostgreSQL identifier; what is beyond is cut off without an error."""
GRANTING = b"select pg_advisory_xact_lock(hashtextextended('orbit schema migration', 0))"
"""The migrations' own lock: grants run at once would fail with "tuple concurrently updated"."""


class DatabaseRole(StrEnum):
    """What a connection is for."""

    PIPELINE = "pipeline"
    APP = "app"
    ANALYST = "analyst"


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """A role as the cluster has it. ``members`` are those who have its rights without asking."""

    kind: DatabaseRole
    role_name: str
    exists: bool
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Role:
    kind: DatabaseRole
    role_name: str
    exists: bool
    is_held: bool
    members: tuple[str, ...]


class _AdministratorNeeded(Exception):
    """This user may not go on; rolls back what was begun."""


def role_name(database: str, role: DatabaseRole) -> str:
    """Return the name of a database's role: ``<database>_app``.

    Where that exceeds PostgreSQL's 63 bytes, the database's name is cut and told apart by a digest.
    """
    name = f"{database}_{role.value}"
    if len(name.encode()) <= LONGEST_NAME:
        return name
    ending = f"_{sha256(database.encode()).hexdigest()[:8]}_{role.value}"
    kept = database.encode()[: LONGEST_NAME - len(ending)].decode(errors="ignore")
    return f"{kept}{ending}"


def grant_roles(connection: PostgresConnection) -> tuple[str, ...]:
    """Make the roles where they are missing, hand over what they own, and grant what they may do; again is harmless.

    Whoever owned the tables becomes a member of the owning role and works on as before.

    Args:
        connection: not in a transaction, on a schema that knows of roles.

    Returns:
        The statements an administrator must run first, because this user may not; nothing was changed then. Empty
        when all is as it should be.
    """
    with connection.transaction():
        connection.execute(GRANTING)
        try:
            with connection.transaction():
                _make_and_grant(connection)
        except _AdministratorNeeded:
            return administrator_statements(connection)
        except psycopg.errors.InsufficientPrivilege:
            # Only after the roles are there does a refusal mean something else than that they must be made.
            missing = administrator_statements(connection)
            if not missing:
                raise
            return missing
    return ()


def administrator_statements(connection: PostgresConnection) -> tuple[str, ...]:
    """Return what must be run, by somebody who may, before this connection's user can own and grant; empty if nothing.

    Each ends with a semicolon.
    """
    roles = _read_roles(connection)
    creations = [_creation(role.role_name) for role in roles if not role.exists]
    pipeline = roles[0]
    memberships = [] if pipeline.is_held else _memberships(connection, pipeline.role_name, _current_user(connection))
    return tuple(f"{command.as_string(connection)};" for command in (*creations, *memberships))


def read_role_statuses(connection: PostgresConnection) -> tuple[RoleStatus, ...]:
    """Return the three roles of the connection's database, made or not."""
    return tuple(RoleStatus(role.kind, role.role_name, role.exists, role.members) for role in _read_roles(connection))


def connect_as(
    url: str, role: DatabaseRole, *, autocommit: bool = False, application_name: str = "orbit"
) -> PostgresConnection:
    """Connect, and have the rights of a role only, whatever the URL's user may do.

    It holds for the session, until a `reset role`: it guards against mistakes, and a login that is a member of nothing
    else guards against more.

    Raises:
        DatabaseUnavailable: nobody answers, the role isn't there, or the URL's user is no member of it.
    """
    connection = connect(url, autocommit=autocommit, application_name=application_name)
    try:
        with connection.transaction():
            name = role_name(_current_database(connection), role)
            connection.execute(sql.SQL("set role {}").format(sql.Identifier(name)))
    except (psycopg.errors.InvalidParameterValue, psycopg.errors.UndefinedObject):
        connection.close()
        raise DatabaseUnavailable(
            f"There is no role {name!r} yet for {describe(url)}. Run: orbit migrate; it tells if an administrator is "
            "needed."
        ) from None
    except psycopg.errors.InsufficientPrivilege:
        user = connection.info.user
        connection.close()
        grant = sql.SQL("grant {} to {}").format(sql.Identifier(name), sql.Identifier(user))
        raise DatabaseUnavailable(
            f"{user!r} is no member of the role {name!r}, at {describe(url)}. As an administrator, "
            f"run: {grant.as_string()};"
        ) from None
    return connection


@contextmanager
def acting_for(connection: PostgresConnection, user_id: str) -> Iterator[None]:
    """Open a transaction that sees and writes one person's rows only; nothing of it outlives the transaction.

    Args:
        connection: not in a transaction: who was set in an inner one would stay set in the outer.
        user_id: the person who is signed in.

    Raises:
        RuntimeError: the connection is in a transaction, or its user is exempt from row-level security.
    """
    if connection.info.transaction_status is not TransactionStatus.IDLE:
        raise RuntimeError("a person's transaction can't begin inside another one")
    with connection.transaction():
        protected = connection.execute(
            "select row_security_active('orbitpilot.message'), set_config('orbit.user_id', %s, true)", [user_id]
        ).fetchone()
        if protected is None or not protected[0]:
            raise RuntimeError("row-level security doesn't bind this connection's user: connect with connect_as()")
        yield


def _make_and_grant(connection: PostgresConnection) -> None:
    names = _names(connection)
    owner = names[DatabaseRole.PIPELINE]
    for role in _read_roles(connection):
        if not role.exists:
            connection.execute(_creation(role.role_name))
    _hold_pipeline(connection, owner)
    former: dict[str, str] = dict(connection.execute("select kind, role_name from memory.database_role").fetchall())
    _take_ownership(connection, owner, former.get(DatabaseRole.PIPELINE))
    _let_go(connection, [name for kind, name in former.items() if names[DatabaseRole(kind)] != name])
    _run(connection, "grant_roles", {kind.value: name for kind, name in names.items()})
    policies = connection.execute(statement("list_missing_policies"), {"analyst": names[DatabaseRole.ANALYST]})
    for (command,) in policies.fetchall():
        connection.execute(command)
    for privilege in ("connect", "temporary"):
        _grant_on_database(connection, privilege, list(names.values()))
    connection.cursor().executemany(
        "insert into memory.database_role (kind, role_name) values (%s, %s)"
        " on conflict (kind) do update set role_name = excluded.role_name",
        [(kind.value, name) for kind, name in names.items()],
    )


def _hold_pipeline(connection: PostgresConnection, owner: str) -> None:
    """Become a member of the owning role, without which nothing could be handed to it."""
    if _read_roles(connection)[0].is_held:
        return
    for command in _memberships(connection, owner, _current_user(connection)):
        connection.execute(command)
    if not _read_roles(connection)[0].is_held:
        raise _AdministratorNeeded


def _take_ownership(connection: PostgresConnection, owner: str, former_owner: str | None) -> None:
    unowned = connection.execute(statement("list_unowned_objects"), {"owner": owner}).fetchall()
    for previous in sorted({previous for previous, _command in unowned} - {former_owner}):
        is_superuser, is_member = connection.execute(
            "select rolsuper, pg_has_role(oid, %s, 'usage') from pg_roles where rolname = %s", [owner, previous]
        ).fetchone() or (True, True)
        if not (is_superuser or is_member):
            for command in _memberships(connection, owner, previous):
                connection.execute(command)
    for _previous, command in unowned:
        connection.execute(command)


def _let_go(connection: PostgresConnection, former_roles: list[str]) -> None:
    for name in former_roles:
        if connection.execute("select from pg_roles where rolname = %s", [name]).rowcount:
            _run(connection, "revoke_role", {"role": name})


def _grant_on_database(connection: PostgresConnection, privilege: LiteralString, roles: list[str]) -> None:
    """Grant what everybody has unless an administrator took it away; builds and imports need temporary tables."""
    lacking = connection.execute(
        "select name from unnest(%s::text[]) as name where not has_database_privilege(name, current_database(), %s)",
        [roles, privilege],
    ).fetchall()
    for (name,) in lacking:
        connection.execute(
            sql.SQL("grant {} on database {} to {}").format(
                sql.SQL(privilege), sql.Identifier(_current_database(connection)), sql.Identifier(name)
            )
        )


def _run(connection: PostgresConnection, name: str, roles: dict[str, str]) -> None:
    """Run statements that name roles, which no parameter can."""
    identifiers = {kind: sql.Identifier(role) for kind, role in roles.items()}
    connection.execute(sql.SQL(statement(name).decode()).format(**identifiers))


def _read_roles(connection: PostgresConnection) -> list[_Role]:
    """Return the three roles, in the order of ``DatabaseRole``."""
    names = _names(connection)
    rows = connection.execute(statement("read_role_facts"), {"names": list(names.values())}).fetchall()
    return [
        _Role(kind, name, exists, is_held, tuple(members))
        for kind, (name, exists, is_held, members) in zip(names, rows, strict=True)
    ]


def _names(connection: PostgresConnection) -> dict[DatabaseRole, str]:
    database = _current_database(connection)
    return {role: role_name(database, role) for role in DatabaseRole}


def _creation(name: str) -> sql.Composed:
    return sql.SQL("create role {} nologin").format(sql.Identifier(name))


def _memberships(connection: PostgresConnection, role: str, member: str) -> list[sql.Composed]:
    """Return what makes somebody act and own as a role does, without asking each time."""
    names = {"role": sql.Identifier(role), "member": sql.Identifier(member)}
    if connection.info.server_version >= 160000:
        return [sql.SQL("grant {role} to {member} with inherit true, set true").format(**names)]
    inherits = connection.execute("select rolinherit from pg_roles where rolname = %s", [member]).fetchone()
    grant = sql.SQL("grant {role} to {member}").format(**names)
    return [grant] if inherits == (True,) else [grant, sql.SQL("alter role {member} inherit").format(**names)]


def _current_user(connection: PostgresConnection) -> str:
    row = connection.execute("select current_user::text").fetchone()
    return str(row[0]) if row else connection.info.user


def _current_database(connection: PostgresConnection) -> str:
    """Return the database's own name, which a connection pooler may hide behind another."""
    row = connection.execute("select current_database()::text").fetchone()
    return str(row[0]) if row else connection.info.dbname
