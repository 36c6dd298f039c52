"""Forget: the one service behind the command, the Dagster job and the tools of assistants.

The order is what makes it hold. Tombstones and revisions are committed first and wait for nobody: from there on nothing
of the selection can be reached or come back. Then the kinds go, stage by stage. What would be needed to find the rest,
should it fail, goes last and only when the rest was seen to be gone. Every step can be repeated, so that the same
command again goes on where a failed one stopped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import psycopg

from orbit_pipelines.building.hashing import load_hash_key
from orbit_pipelines.building.locks import lock_person
from orbit_pipelines.errors import OrbitError
from orbit_pipelines.forgetting.failures import naming
from orbit_pipelines.forgetting.fence import raise_fence
from orbit_pipelines.forgetting.following import following
from orbit_pipelines.forgetting.kinds import Absence, ArtifactKind, Scene, Stage, Touched, in_order
from orbit_pipelines.forgetting.physical.still_held import may_still_hold
from orbit_pipelines.forgetting.proving import (
    Proof,
    deepen,
    deepen_to_bytes,
    find_standing,
    locked_tables,
    take_traces,
    tell_earlier,
    vacuum_touched,
)
from orbit_pipelines.forgetting.receipt_book import IssuedReceipt, issue_receipt
from orbit_pipelines.forgetting.receipt_content import describe_forget
from orbit_pipelines.forgetting.registry import KINDS
from orbit_pipelines.forgetting.remedies import tell_found, what_to_do
from orbit_pipelines.forgetting.report import Report
from orbit_pipelines.forgetting.resolving import resolve
from orbit_pipelines.forgetting.selection import ForgetRequest
from orbit_pipelines.forgetting.snippets import read_snippets
from orbit_pipelines.forgetting.verifying import verify_absence
from orbit_pipelines.history.forgotten_accounts import hash_users
from orbit_pipelines.settings import Settings


class PlanChanged(OrbitError):
    """What a forget would do now is not what was previewed; nothing was changed. ``report`` is what it would do."""

    def __init__(self, report: Report, expected: str) -> None:
        super().__init__(
            f"What was previewed as {expected} is now {report.digest}: nothing was changed. Read the report as it is "
            "now, and repeat the command with its digest."
        )
        self.report = report


class NotVerified(OrbitError):
    """Something of the selection was still found after its purge. ``report`` says of which kind."""

    def __init__(self, report: Report) -> None:
        verified = report.verified or {}
        super().__init__(
            f"Still found after the purge: {tell_found(verified)}. The tombstones stand, so nothing of it comes back. "
            f"What to do: {what_to_do(verified)}. Don't remove origins or corpus by hand."
        )
        self.report = report


@dataclass(frozen=True, slots=True)
class Progress:
    """Whom a forget tells how it goes on.

    ``on_fence``: from now on nothing of it can be reached. ``on_kind``: each kind's turn. ``on_lock``: the tables,
    everybody's, that nobody can use while they are written anew. ``on_wait``: that a publish is waited for.
    """

    on_fence: Callable[[], None] = lambda: None
    on_kind: Callable[[str], None] = lambda _name: None
    on_lock: Callable[[tuple[str, ...]], None] = lambda _tables: None
    on_wait: Callable[[], None] = lambda: None


def preview(
    connection: psycopg.Connection[Any],
    settings: Settings,
    request: ForgetRequest,
    kinds: Iterable[ArtifactKind] = KINDS,
) -> Report:
    """Return what a forget would do now, all of one moment; the server itself keeps it from writing anything.

    Args:
        connection: in autocommit, outside a transaction.
        settings: of the installation.
        request: whose ``dry_run`` doesn't matter here.
        kinds: the registry.
    """
    with naming("selection"), connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        scene = _resolved(connection, settings, request)
        return Report(scene.selection, _find(scene, following(kinds)), dry_run=True)


def forget(
    connection: psycopg.Connection[Any],
    settings: Settings,
    request: ForgetRequest,
    kinds: Iterable[ArtifactKind] = KINDS,
    progress: Progress | None = None,
) -> Report:
    """Do what the request says, and return the report.

    Args:
        connection: in autocommit, outside a transaction.
        settings: of the installation.
        request: at once, unless its ``dry_run`` is true.
        kinds: the registry.
        progress: whom to tell.

    Raises:
        PlanChanged: ``if_plan`` names another state; nothing was changed.
        ForgetFailed: a kind couldn't be purged. The tombstones stand.
        NotVerified: something was still found afterwards.
    """
    telling = progress or Progress()
    kinds = in_order(kinds)
    if request.dry_run:
        current = preview(connection, settings, request, kinds)
        _require_plan(current, request)
        return current
    kinds = following(kinds)
    with _in_turn_if_planned(connection, request, telling.on_wait):
        scene = _resolved_as_planned(connection, settings, request, kinds, telling.on_wait)
        selection = scene.selection
        if selection.is_empty:
            return Report(selection, _find(scene, kinds), dry_run=False, verified={})
        with naming("tombstones"):
            standing = find_standing(scene)
            raise_fence(connection, settings, selection)
    telling.on_fence()
    with naming("traces"):
        taken = take_traces(scene, kinds, physical=request.physical)
    # A cache is counted as it goes: its rows are the store's, and reading them first takes as long as deleting them.
    found = _find(scene, [kind for kind in kinds if kind.stage is not Stage.CACHE])
    purged: dict[str, Touched] = {}

    def purge(part: Iterable[ArtifactKind]) -> None:
        for kind in part:
            telling.on_kind(kind.name)
            with naming(kind.name):
                purged[kind.name] = kind.purge(scene)

    def require_absence(verified: Mapping[str, Absence]) -> Report:
        report = Report(selection, _merged(kinds, found, purged), dry_run=False, verified=verified)
        if not report.is_verified:
            raise NotVerified(report)
        return report

    evidence = [kind for kind in kinds if kind.stage is Stage.EVIDENCE]
    others = [kind for kind in kinds if kind.stage is not Stage.EVIDENCE]
    purge(others)
    with naming("vacuum"):
        vacuumed = vacuum_touched(scene, kinds, purged)
    with naming("verification"):
        verification = verify_absence(scene, others, taken.traces)
    require_absence(verification.absences)
    purge(evidence)
    with naming("verification"):
        verified = verification.absences | {kind.name: kind.verify(scene) for kind in evidence}
    require_absence(verified)
    if request.physical:
        telling.on_lock(locked_tables(kinds))
        with naming("tables"):
            proof = deepen_to_bytes(scene, kinds, verified, taken)
    else:
        proof = deepen(kinds, verified, vacuumed)
    report = require_absence(proof.verified)
    with naming("receipts"):
        unsaid = (*tell_earlier(standing, taken), *verification.not_looked)
        issued = _issue(scene, request, report, purged, proof, unsaid)
        beside = None if issued.beside is None else str(issued.beside)
        return replace(report, receipt=str(issued.path), receipt_beside=beside)


def _require_plan(current: Report, request: ForgetRequest) -> None:
    if request.if_plan is not None and current.digest != request.if_plan:
        raise PlanChanged(current, request.if_plan)


@contextmanager
def _in_turn_if_planned(
    connection: psycopg.Connection[Any], request: ForgetRequest, on_wait: Callable[[], None]
) -> Iterator[None]:
    """Hold the person's turn from the comparison of a plan to the fence, so that no publish slips in between.

    A forget without a plan raises its fence at once: it waits for nobody.
    """
    if request.if_plan is None:
        yield
        return
    with connection.transaction():
        with naming("selection"):
            lock_person(connection, request.selectors.user_id, on_wait)
        yield


def _resolved_as_planned(
    connection: psycopg.Connection[Any],
    settings: Settings,
    request: ForgetRequest,
    kinds: Iterable[ArtifactKind],
    on_wait: Callable[[], None],
) -> Scene:
    with naming("selection"):
        scene = _resolved(connection, settings, request, on_wait)
    if request.if_plan is not None:
        _require_plan(Report(scene.selection, _find(scene, kinds), dry_run=True), request)
    return scene


def _resolved(
    connection: psycopg.Connection[Any],
    settings: Settings,
    request: ForgetRequest,
    on_wait: Callable[[], None] = lambda: None,
) -> Scene:
    selection = resolve(connection, request.selectors)

    @cache
    def snippets() -> frozenset[str]:
        return read_snippets(connection, selection)

    return Scene(connection, settings, selection, request.rederive, snippets, on_wait)


def _find(scene: Scene, kinds: Iterable[ArtifactKind]) -> dict[str, Touched]:
    found = {}
    for kind in kinds:
        with naming(kind.name):
            found[kind.name] = Touched() if scene.selection.is_empty else kind.touched(scene)
    return found


def _merged(
    kinds: Iterable[ArtifactKind], found: Mapping[str, Touched], purged: Mapping[str, Touched]
) -> dict[str, Touched]:
    """Return what was found, with what came between finding and purging added: a report tells all that went."""
    none = Touched()
    return {kind.name: _with_late(found.get(kind.name, none), purged.get(kind.name, none)) for kind in kinds}


def _with_late(found: Touched, purged: Touched) -> Touched:
    late = [each for each in purged.ids if each not in set(found.ids)]
    count = found.count + len(late) if found.ids or late else max(found.count, purged.count)
    return replace(found, ids=(*found.ids, *late), count=count)


def _issue(
    scene: Scene,
    request: ForgetRequest,
    report: Report,
    purged: Mapping[str, Touched],
    proof: Proof,
    not_looked: tuple[str, ...],
) -> IssuedReceipt:
    selection = scene.selection
    user_hash = None
    if selection.account:
        [user_hash] = hash_users([selection.user_id], load_hash_key(scene.settings))
    content = describe_forget(
        request.selectors,
        selection,
        found=report.artifacts,
        purged=purged,
        verified=proof.verified,
        physical=None if proof.physical is None else proof.physical.as_json(),
        not_covered=(*not_looked, *proof.not_covered, *may_still_hold(scene.connection)),
        user_hash=user_hash,
    )
    return issue_receipt(
        scene.connection, scene.settings, content, user_id=None if selection.account else selection.user_id
    )
