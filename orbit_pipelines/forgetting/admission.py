"""Admission rules: which sessions stay out of memory from now on.

Several rules are one policy: a session that any of them matches is kept out. What builds make of them is
``building.admissions``'s business. A rule is no permission: a session kept out of memory may do what its tools allow.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import psycopg
from psycopg.rows import class_row

from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import UsageError
from orbit_pipelines.history.accounts import require_account


class RuleKind(StrEnum):
    """What of a session a rule compares."""

    CHANNEL = "channel"
    CHAT_TYPE = "chat_type"
    SESSION_KIND = "session_kind"
    HOOK_SOURCE = "hook_source"
    PARTICIPANT = "participant"


SESSION_KINDS = ("chat", "cron", "heartbeat", "hook", "subagent")
"""The kinds of sessions that imports tell apart; an application may store others."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Sessions whose ``kind`` is exactly ``value`` are kept out: of one person or everyone, of one agent or all.

    Blanks around the value don't count; case does. A session that doesn't say what is compared is never matched.
    """

    kind: RuleKind
    value: str
    user_id: str | None = None
    agent_id: str | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the rule as statements take it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule in force. ``sessions``: how many it matches now, forgotten ones too."""

    rule_id: int
    kind: str
    value: str
    user_id: str | None
    agent_id: str | None
    created_at: datetime
    sessions: int

    def as_json(self) -> dict[str, Any]:
        """Return the rule as values that JSON can hold."""
        return {**asdict(self), "created_at": self.created_at.isoformat()}


def add_rules(conn: psycopg.Connection[Any], rules: Sequence[Rule]) -> int:
    """Put rules in force, and return how many are new. The next build follows; pairs that memory has covered stay.

    Args:
        conn: in autocommit, so that all come at once; otherwise commits are the caller's.
        rules: one that is in force already stays as it is.

    Raises:
        UnknownAccount: a rule is for somebody who has no account.
        UsageError: a value is nothing but blanks, or a kind of session that there is none of.
    """
    with conn.transaction():
        for rule in rules:
            _require_kind(conn, rule)
        return sum(_change(conn, "add_admission_rule", rule) for rule in rules)


def remove_rules(conn: psycopg.Connection[Any], rules: Sequence[Rule] = (), rule_ids: Sequence[int] = ()) -> int:
    """Take rules out of force, and return how many that were. What they kept out enters at the next build.

    Raises:
        UsageError: one of them isn't in force; none was removed.
    """
    with conn.transaction():
        for rule in rules:
            if not _change(conn, "remove_admission_rule", rule):
                raise UsageError(
                    f"There is no such rule: {describe(rule)}. `orbit admission list` lists those there are."
                )
        for rule_id in rule_ids:
            removed = conn.execute(
                "update memory.admission_rule set removed_at = now() where rule_id = %s and removed_at is null",
                [rule_id],
            )
            if not removed.rowcount:
                raise UsageError(f"There is no rule {rule_id}. `orbit admission list` lists those there are.")
    return len(rules) + len(rule_ids)


def list_rules(conn: psycopg.Connection[Any]) -> list[StoredRule]:
    """Return the rules in force, in the order they came."""
    with conn.cursor(row_factory=class_row(StoredRule)) as cursor:
        return cursor.execute(statement("list_admission_rules")).fetchall()


def describe(rule: Rule | StoredRule) -> str:
    """Return a rule in words."""
    whose = "everyone" if rule.user_id is None else rule.user_id
    agent = "" if rule.agent_id is None else f", agent {rule.agent_id}"
    return f"{rule.kind.replace('_', ' ')} {rule.value!r} of {whose}{agent}"


def _require_kind(conn: psycopg.Connection[Any], rule: Rule) -> None:
    kind = rule.value.strip()
    if rule.kind is not RuleKind.SESSION_KIND or not kind or kind in SESSION_KINDS:
        return
    if not conn.execute("select from orbitpilot.session where session_kind = %s limit 1", [kind]).rowcount:
        raise UsageError(f"No session is of the kind {kind!r}. The kinds are {', '.join(SESSION_KINDS)}.")


def _change(conn: psycopg.Connection[Any], name: str, rule: Rule) -> int:
    if not rule.value.strip():
        raise UsageError(
            f"A rule on the {rule.kind.replace('_', ' ')} needs a value: a session that says none is never matched."
        )
    if rule.user_id is not None:
        require_account(conn, rule.user_id)
    return conn.execute(statement(name), rule.parameters()).rowcount
