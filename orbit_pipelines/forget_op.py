"""The forget as Dagster runs it: config in, the one service, counts out. No text of a message or file in metadata."""

from datetime import datetime

import dagster as dg
from pydantic import Field

from orbit_pipelines.forgetting.report import Report
from orbit_pipelines.forgetting.selection import ForgetRequest, Selectors
from orbit_pipelines.settings import load_settings


class RecordKey(dg.Config):
    """A record, by its source's key and its id within it."""

    source: str
    id: str


class ForgetConfig(dg.Config):
    """What to forget: the same selectors and defaults as the command has."""

    user: str = Field(description="Whose memory: the account's user id.")
    agent: str | None = Field(default=None, description="Which assistant's memory of them; unset: orbitpilot.")
    sessions: list[str] = Field(default=[], description="Session ids, exact.")
    participants: list[str] = Field(default=[], description="Sessions that recorded one of these actor ids; exact.")
    hook_sources: list[str] = Field(default=[], description="Sessions of one of these hooks; exact.")
    records: list[RecordKey] = Field(default=[], description="Records of other sources than chat history.")
    account: bool = Field(default=False, description="Everything of this person, every agent's.")
    since: str | None = Field(
        default=None,
        description="Only sessions that began then or later: 2026-03-01T00:00:00Z. Unknown ids all the same.",
    )
    rederive: bool = Field(default=False, description="Make entries with other origins too again, from those alone.")
    physical: bool = Field(default=False, description="Rewrite the tables that held it, and look for its bytes.")
    dry_run: bool = Field(default=False, description="Show what the same config would do without it; write nothing.")
    if_plan: str | None = Field(default=None, description="Refuse when a preview would no longer have this digest.")

    def request(self) -> ForgetRequest:
        """Return what the service is asked for."""
        selectors = Selectors(
            user_id=self.user,
            agent_id=self.agent,
            sessions=tuple(self.sessions),
            participants=tuple(self.participants),
            hook_sources=tuple(self.hook_sources),
            records=tuple((record.source, record.id) for record in self.records),
            account=self.account,
            since=None if self.since is None else datetime.fromisoformat(self.since),
        )
        return ForgetRequest(selectors, self.rederive, self.physical, self.dry_run, self.if_plan)


@dg.op(out=dg.Out(dg.Nothing), required_resource_keys={"database"})
def forget_sessions(context: dg.OpExecutionContext, config: ForgetConfig) -> None:
    """Take out of memory what selected sessions left there, and see that it is gone."""
    # Every build loads this module with the jobs, and would pay for the cryptography of receipts.
    from orbit_pipelines.forgetting.service import NotVerified, PlanChanged, Progress, forget  # noqa: PLC0415

    request = config.request()
    progress = Progress(
        on_kind=lambda name: context.log.info("purging %s", name),
        on_wait=lambda: context.log.info("a build is publishing; the tombstones stand already, waiting for its end"),
    )
    connection = context.resources.database.connect()
    try:
        report = forget(connection, load_settings(), request, progress=progress)
    except (PlanChanged, NotVerified) as refused:
        # A step that fails has no output that its metadata could stand on.
        raise dg.Failure(str(refused), metadata=describe(refused.report), allow_retries=False) from refused
    finally:
        connection.close()
    context.add_output_metadata(describe(report))


def describe(report: Report) -> dict[str, dg.MetadataValue]:
    """Return a report as metadata: ids of sessions and counts."""
    verified = report.verified or {}
    rows = [
        dg.TableRecord(
            {
                "kind": name,
                "count": touched.count,
                "mixed": len(touched.mixed),
                "refused": len(touched.refused),
                "found_afterwards": str(verified[name].found) if name in verified else "",
                "depth": verified[name].depth.value if name in verified else "",
            }
        )
        for name, touched in report.artifacts.items()
    ]
    selection = report.selection
    return {
        "dry_run": dg.MetadataValue.bool(report.dry_run),
        "digest": dg.MetadataValue.text(report.digest),
        "sessions": dg.MetadataValue.json(selection.session_ids),
        "unresolved": dg.MetadataValue.json(list(selection.unresolved)),
        "undated": dg.MetadataValue.json(list(selection.undated)),
        "records": dg.MetadataValue.json([record.as_json() for record in selection.records]),
        "caught": dg.MetadataValue.json([record.as_json() for record in selection.caught]),
        **({"artifacts": dg.MetadataValue.table(rows)} if rows else {}),
        **({"receipt": dg.MetadataValue.path(report.receipt)} if report.receipt else {}),
    }
