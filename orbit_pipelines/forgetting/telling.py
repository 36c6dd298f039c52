"""A forget's report in words, for people. Pure; the lines of files that would go are quoted, as a preview must."""

from collections.abc import Iterator

from orbit_pipelines.forgetting.report import Report

NOTHING_FOUND = (
    "Nothing found: these selectors lead to nothing more that memory has on record. That is all it says; what has no "
    "lineage, and what is listed below, can't be found by them."
)
NOTHING_SELECTED = "These selectors resolve to no session and no record. Nothing was written."


def tell(report: Report, *, ids_shown: int = 20) -> list[str]:
    """Return the report as lines.

    Args:
        report: of a forget or of a preview.
        ids_shown: how many of each kind's ids; the JSON has all.
    """
    if report.selection.is_empty:
        return [NOTHING_SELECTED, *_left_out(report)]
    return [
        *_selected(report),
        *_left_out(report),
        *_artifacts(report, ids_shown),
        *_apart(report),
        *_end(report),
        "Not reached:",
        *(f"  {each}" for each in report.not_reached),
    ]


def _selected(report: Report) -> Iterator[str]:
    selection = report.selection
    what = "Would forget" if report.dry_run else "Forgot"
    whole = "the whole account: " if selection.account else ""
    yield f"{what} of {selection.user_id}: {whole}{_counted(len(selection.sessions), 'session')}" + (
        f", {_counted(len(selection.records), 'record')}" if selection.records else ""
    )
    yield from (f"  {session.session_id} (agent {session.agent_id})" for session in selection.sessions)
    yield from (f"  {record.source_key} {record.source_id}" for record in selection.records)
    others = selection.other_names()
    if any(others.values()):
        yield "The same where it was before it was renamed or moved, or is since:"
        yield from (f"  the account {each['user_id']}" for each in others["accounts"])
        yield from (
            f"  {each['session_id']} (agent {each['agent_id']}) of {each['user_id']}" for each in others["sessions"]
        )
        yield from (
            f"  {each['source_key']} {each['source_id']} (agent {each['agent_id']}) of {each['user_id']}"
            for each in others["records"]
        )


def _left_out(report: Report) -> Iterator[str]:
    selection = report.selection
    if selection.unresolved:
        yield "Unknown, and kept out for good all the same:"
        yield from (f"  {session_id}" for session_id in selection.unresolved)
    if selection.unresolved_records:
        yield "No such record:"
        yield from (f"  {record.source_key} {record.source_id}" for record in selection.unresolved_records)
    if selection.undated:
        yield "Left out, because nothing says when they began:"
        yield from (f"  {session_id}" for session_id in selection.undated)


def _artifacts(report: Report, ids_shown: int) -> Iterator[str]:
    if not report.found:
        yield NOTHING_FOUND
    width = max((len(name) for name in report.artifacts), default=0)
    for name, touched in report.artifacts.items():
        yield f"{name:<{width}}  {touched.count:>9,}"
        if touched.lines:
            yield from (
                f"  {line.file}:{line.line}{' (also in sessions that stay)' if line.is_elsewhere else ''}: {line.text}"
                for line in touched.lines
            )
        else:
            yield from (f"  {each}" for each in touched.ids[:ids_shown])
            if len(touched.ids) > ids_shown:
                yield f"  … and {len(touched.ids) - ids_shown:,} more: --json lists all"


def _apart(report: Report) -> Iterator[str]:
    if report.selection.caught:
        yield "Records caught from these sessions: they stay, and are excluded until their owner turns them on again:"
        yield from (f"  {record.source_key} {record.source_id}" for record in report.selection.caught)
    artifacts = report.artifacts.items()
    if any(touched.mixed for _, touched in artifacts):
        yield "Go whole although they also come from sessions that stay:"
        for name, touched in artifacts:
            for mixed in touched.mixed:
                yield f"  {name} {mixed.id}, also from {', '.join(mixed.remaining_sessions)}"
    for attribute, heading in (
        ("edited", "Edited by hand, and gone all the same:" if not report.dry_run else "Edited by hand:"),
        ("untargetable", "Without origins, so nothing tells whose they are:"),
        ("refused", "Refused:"),
        ("to_review", "Files that these sessions wrote, to be looked at by hand; the list is no complete inventory:"),
    ):
        found = [f"  {name} {each}" for name, touched in artifacts for each in getattr(touched, attribute)]
        if found:
            yield heading
            yield from found


def _end(report: Report) -> Iterator[str]:
    if report.dry_run:
        yield f"Nothing was written. Digest of this plan: {report.digest}"
        yield "To forget, repeat the identical command without --dry-run; with --if-plan and the digest it refuses if"
        yield "the plan has changed."
        return
    for name, absence in (report.verified or {}).items():
        yield f"verified  {name}: {absence.found:,} found, {absence.depth.value}"
    if report.receipt:
        yield f"Receipt: {report.receipt}"
    if report.receipt_beside:
        yield f"Another receipt of that number is in {report.receipt_beside}, as after an older database was restored;"
        yield "it was left alone."


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
