"""What a receipt tells of a forget: keys, counts and depths; no text, and no hash of one. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from orbit_pipelines.forgetting.kinds import Absence, Touched
from orbit_pipelines.forgetting.report import NOT_REACHED
from orbit_pipelines.forgetting.selection import Selection, Selectors


def describe_forget(
    selectors: Selectors,
    selection: Selection,
    *,
    found: Mapping[str, Touched],
    purged: Mapping[str, Touched],
    verified: Mapping[str, Absence],
    physical: Mapping[str, Any] | None = None,
    not_covered: Iterable[str] = (),
    user_hash: str | None = None,
) -> dict[str, Any]:
    """Return the content of a forget's receipt.

    Args:
        selectors: as somebody gave them.
        selection: what they resolved to.
        found: kind → what was found before anything was deleted.
        purged: kind → what went.
        verified: kind → what was found afterwards, and how far it was looked.
        physical: what rewriting the tables and searching their files found; None when it wasn't asked for.
        not_covered: what was not looked at, and what may still hold the bytes, beside what no forget reaches.
        user_hash: the person's keyed hash, to stand instead of the id when the account was forgotten whole.
    """
    return {
        "person": {"user_id": selection.user_id} if user_hash is None else {"user_hash": user_hash},
        "selected": {
            "agents": list(selection.agents),
            "sessions": [[session.agent_id, session.session_id] for session in selection.sessions],
            "records": [record.as_json() for record in selection.records],
            "caught": [record.as_json() for record in selection.caught],
            "unresolved": list(selection.unresolved),
            "unresolved_records": [record.as_json() for record in selection.unresolved_records],
            "undated": list(selection.undated),
            "other_names": _other_names(selection, is_named=user_hash is None),
            "participants": list(selectors.participants),
            "hook_sources": list(selectors.hook_sources),
            "since": None if selectors.since is None else selectors.since.isoformat(),
            "account": selection.account,
        },
        "found": {name: touched.count for name, touched in found.items()},
        "purged": {name: {"count": touched.count, "ids": list(touched.ids)} for name, touched in purged.items()},
        "refused": [{"kind": name, "id": each} for name, touched in found.items() for each in touched.refused],
        "verified": {
            name: {"found": absence.found, "depth": absence.depth.value} for name, absence in verified.items()
        },
        "physical": None if physical is None else dict(physical),
        "not_covered": [*NOT_REACHED, *not_covered],
    }


def _other_names(selection: Selection, *, is_named: bool) -> dict[str, list[dict[str, str]]]:
    names = selection.other_names()
    if is_named:
        return names
    return {
        "accounts": [],
        **{
            what: [{key: value for key, value in each.items() if key != "user_id"} for each in names[what]]
            for what in ("sessions", "records")
        },
    }
