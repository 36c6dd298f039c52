"""What a forget found and did, as people, scripts and receipts get it. Pure.

The report of a dry run and of the forget that follows are equal but for ``dry_run``, ``verified`` and ``receipt``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from orbit_pipelines.forgetting.kinds import Absence, Touched
from orbit_pipelines.forgetting.selection import Selection

NOT_REACHED = (
    "transcripts and originals: messages, sessions and records are the person's history and stay",
    "copies outside this installation, and other systems",
    "backups: restoring one older than this forget brings memory back without its tombstone; run the command again",
    "direct edits of files by agents or people",
    "entries from before lineage was recorded",
    "paraphrases that hold no exact text of the selected sessions",
    "other agents' stores and other people's",
)
"""What a forget doesn't reach; said in every report."""


@dataclass(frozen=True, slots=True)
class Report:
    """One forget, or the preview of one.

    ``verified`` and ``receipt`` (the path of its file) are None before a purge. ``receipt_beside``: another receipt's
    file that has the name it would have had.
    """

    selection: Selection
    artifacts: Mapping[str, Touched]
    dry_run: bool
    verified: Mapping[str, Absence] | None = None
    receipt: str | None = None
    receipt_beside: str | None = None
    not_reached: tuple[str, ...] = field(default=NOT_REACHED)

    @property
    def digest(self) -> str:
        """What the plan is recognised by: equal while the same is found."""
        return digest(self.selection, self.artifacts)

    @property
    def found(self) -> int:
        """How many artifacts were found, of all kinds."""
        return sum(touched.count for touched in self.artifacts.values())

    @property
    def is_verified(self) -> bool:
        """Whether the absence of every kind was looked for, and nothing was found."""
        return self.verified is not None and not any(absence.found for absence in self.verified.values())

    def as_json(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        selection, artifacts = self.selection, self.artifacts
        answer: dict[str, Any] = {
            "dry_run": self.dry_run,
            "digest": self.digest,
            "user_id": selection.user_id,
            "agents": list(selection.agents),
            "account": selection.account,
            "sessions": selection.session_ids,
            "records": [record.as_json() for record in selection.records],
            "unresolved": list(selection.unresolved),
            "unresolved_records": [record.as_json() for record in selection.unresolved_records],
            "undated": list(selection.undated),
            "other_names": selection.other_names(),
            "artifacts": {
                name: {
                    "count": touched.count,
                    "ids": list(touched.ids),
                    **({"lines": [_line(line) for line in touched.lines]} if touched.lines else {}),
                }
                for name, touched in artifacts.items()
            },
            "mixed": [
                {"kind": name, "id": mixed.id, "remaining_sessions": list(mixed.remaining_sessions)}
                for name, touched in artifacts.items()
                for mixed in touched.mixed
            ],
            "caught": [record.as_json() for record in selection.caught],
            **{name: self._listed_apart(name) for name in ("edited", "untargetable", "to_review", "refused")},
            "not_reached": list(self.not_reached),
        }
        if not self.dry_run:
            answer["verified"] = {
                name: {"found": absence.found, "depth": absence.depth.value}
                for name, absence in (self.verified or {}).items()
            }
            answer["receipt"] = self.receipt
            if self.receipt_beside is not None:
                answer["receipt_beside"] = self.receipt_beside
        return answer

    def _listed_apart(self, name: str) -> list[dict[str, str]]:
        return [
            {"kind": kind, "id": each} for kind, touched in self.artifacts.items() for each in getattr(touched, name)
        ]


def _line(line: Any) -> dict[str, Any]:
    return {"file": line.file, "line": line.line, "text": line.text, "is_elsewhere": line.is_elsewhere}


def digest(selection: Selection, artifacts: Mapping[str, Touched]) -> str:
    """Return what names exactly what was found: the selection, and of every kind its count, ids and fingerprint."""
    found = {
        "selection": selection.parameters(),
        "unresolved": [selection.unresolved, [record.as_json() for record in selection.unresolved_records]],
        "undated": selection.undated,
        "other_names": selection.other_names(),
        "artifacts": {
            name: [
                touched.count,
                touched.ids,
                touched.fingerprint,
                [(mixed.id, mixed.remaining_sessions) for mixed in touched.mixed],
                [(line.file, line.line, line.text, line.is_elsewhere) for line in touched.lines],
                touched.edited,
                touched.untargetable,
                touched.refused,
                touched.to_review,
            ]
            for name, touched in artifacts.items()
        },
    }
    return sha256(json.dumps(found, ensure_ascii=False, sort_keys=True).encode()).hexdigest()
