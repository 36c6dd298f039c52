"""The few records and names that every room shares.

Words are those of docs/glossary.md. Anything that only one room needs lives in that room.
"""

from dataclasses import dataclass
from enum import StrEnum

CHAT_HISTORY = "orbitpilot.chat_history"
"""The source whose records are pairs; every other source yields rows of ``orbitpilot.record``."""

DEFAULT_AGENT = "orbitpilot"


@dataclass(frozen=True, slots=True, order=True)
class Store:
    """One agent's memory of one person."""

    user_id: str
    agent_id: str = DEFAULT_AGENT


class Mode(StrEnum):
    """How a build takes its scope."""

    INCREMENTAL = "incremental"
    FULL = "full"


class Action(StrEnum):
    """What a publish did to one chunk."""

    ADDED = "added"
    REMOVED = "removed"
    UPDATED = "updated"


class Reason(StrEnum):
    """Why a chunk came, went or stayed out. One vocabulary for tables, pages, checks and docs."""

    NEW_PAIR = "new_pair"
    CONTENT_EDITED = "content_edited"
    REMEMBERED_AGAIN = "remembered_again"
    NOT_REMEMBERED = "not_remembered"
    REPLY_NOT_REMEMBERED = "reply_not_remembered"
    REPLY_REMEMBERED_AGAIN = "reply_remembered_again"
    RECORD_EXCLUDED = "record_excluded"
    SOURCE_INCLUDED = "source_included"
    SOURCE_SWITCHED_OFF = "source_switched_off"
    SOURCE_NOT_ASSIGNED = "source_not_assigned"
    SOURCE_OVER_CAP = "source_over_cap"
    ADMITTED_AGAIN = "admitted_again"
    NOT_ADMITTED = "not_admitted"
    BRANCH_RETURNED = "branch_returned"
    LEFT_BRANCH = "left_branch"
    SESSION_FORGOTTEN = "session_forgotten"
    SESSION_DELETED = "session_deleted"
    MESSAGE_DELETED = "message_deleted"
    ACCOUNT_DELETED = "account_deleted"
    NO_TEXT = "no_text"
    RECALLED_BLOCK = "recalled_block"
    CONTRACT_BROKEN = "contract_broken"
    RECIPE_CHANGED = "recipe_changed"
    METADATA_CHANGED = "metadata_changed"
    REPAIRED = "repaired"


class OriginClass(StrEnum):
    """Who stands behind a text, from most to least trusted."""

    OWNER = "owner"
    AGENT = "agent"
    UNTRUSTED = "untrusted"
    SYSTEM = "system"
