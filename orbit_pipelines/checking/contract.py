"""The contract of the application's data, held by Great Expectations, in place on PostgreSQL.

*Structure* first: tables, columns and types that extraction reads. If that fails, nobody's history can be read rightly,
and the finding is an error. Then the rows, by keys, roles, numbers and flags; no text is read. Rows that break the
contract are a warning: extraction puts their sessions in quarantine and the others go on.

Great Expectations takes seconds to import, so it is imported only where a check really runs.
"""

from collections.abc import Mapping
from typing import Any

import psycopg

from orbit_pipelines.building.extraction import read_extent
from orbit_pipelines.building.scope import RECORD_KEY, SESSION_KEY, Extent
from orbit_pipelines.checking.build_of_run import BuildOfRun
from orbit_pipelines.checking.finding import Finding, Severity, find
from orbit_pipelines.database.binary_copy import copy_frame
from orbit_pipelines.database.statements import statement
from orbit_pipelines.errors import OrbitError

NAME = "chat_history_meets_its_contract"

ROLES = ("user", "assistant", "system", "developer", "tool")

STRUCTURE: Mapping[str, Mapping[str, str]] = {
    "orbitpilot.account": {"user_id": "text", "plan_key": "text", "changed_xid": "xid8"},
    "orbitpilot.session": {
        **dict.fromkeys(SESSION_KEY, "text"),
        "session_kind": "text",
        "next_pair_index": "integer",
        "changed_xid": "xid8",
    },
    "orbitpilot.message": {
        **dict.fromkeys((*SESSION_KEY, "message_id", "role", "author", "content"), "text"),
        **dict.fromkeys(("position", "pair_index", "answers", "run_index"), "integer"),
        **dict.fromkeys(("is_active", "not_remembered"), "boolean"),
        **dict.fromkeys(("content_xid", "flag_xid"), "xid8"),
        "sent_at": "timestamp with time zone",
    },
    "orbitpilot.record": {
        **dict.fromkeys((*RECORD_KEY, "title", "content", "origin_session_id", "origin_message_id"), "text"),
        **dict.fromkeys(("content_xid", "flag_xid"), "xid8"),
        "is_excluded": "boolean",
        "recorded_at": "timestamp with time zone",
    },
    "memory.pair": {**dict.fromkeys((*SESSION_KEY, "message_id"), "text"), "pair_index": "integer"},
}
"""What extraction reads: table (or a host application's view) → column → type."""


def chat_history_meets_its_contract(connection: psycopg.Connection[Any], build: BuildOfRun | None = None) -> Finding:
    """Whether the application's tables have the structure, and their rows the form, that builds rely on.

    Args:
        connection: in autocommit and this check's own: Great Expectations works on it too, and its temporary tables
            go when the caller closes it.
        build: looks at the sessions that this build extracted; without one, at all of them.
    """
    import great_expectations as gx  # noqa: PLC0415 - seconds; see the module
    from sqlalchemy.pool import StaticPool  # noqa: PLC0415 - comes with it

    context: Any = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    # One source for all: when it is collected, it closes the connection.
    source = context.data_sources.add_postgres(
        "orbit",
        # Never dialled: the engine is given our connection, which alone sees the temporary views.
        connection_string="postgresql+psycopg://orbit@localhost/orbit",
        kwargs={"creator": lambda: connection, "poolclass": StaticPool},
    )
    missing = _missing_structure(connection, source, gx.expectations)
    if missing:
        return find(NAME, seen={}, failures={"structure": len(missing)}, examples=missing)
    _choose_sessions(connection, build)
    sessions, messages, records = connection.execute(statement("count_contract_rows")).fetchone() or (0, 0, 0)
    failures = {
        **_unexpected(source, "message", _of_messages(gx.expectations)),
        **_unexpected(source, "session", _of_sessions(gx.expectations)),
        **_unexpected(source, "record", _of_records(gx.expectations, connection)),
    }
    return find(
        NAME,
        seen={"sessions": sessions, "messages": messages, "records": records},
        failures=failures,
        severity=Severity.WARN,
    )


def _missing_structure(connection: psycopg.Connection[Any], source: Any, gxe: Any) -> list[str]:
    """Return the columns that are missing or of another type, written ``schema.table.column type``."""
    expected = [f"{table}.{column} {kind}" for table, columns in STRUCTURE.items() for column, kind in columns.items()]
    connection.execute(statement("create_contract_structure"))
    contains = gxe.ExpectColumnDistinctValuesToContainSet(column="fact", value_set=expected)
    if _validate(source, "structure", {"structure": contains})["structure"].success:
        return []
    there = {row[0] for row in connection.execute("select fact from contract_structure")}
    return [fact for fact in expected if fact not in there]


def _choose_sessions(connection: psycopg.Connection[Any], build: BuildOfRun | None) -> None:
    extent = Extent(is_everything=True)
    if build is not None:
        extraction = build.extraction
        extent = Extent(is_everything=False) if extraction.is_unchanged else read_extent(build.workspace, extraction)
    connection.execute(statement("create_contract_extent"))
    sessions = extent.sessions.vstack(extent.runs.select(*SESSION_KEY)).unique()
    copy_frame(connection, "contract_chosen_session", sessions, dict.fromkeys(SESSION_KEY, "text"))
    copy_frame(connection, "contract_chosen_record", extent.records, dict.fromkeys(RECORD_KEY, "text"))
    connection.execute(
        "insert into contract_chosen select %s, %s::text[]", [extent.is_everything, list(extent.whole_users)]
    )
    connection.execute(statement("create_contract_views"))


def _of_messages(gxe: Any) -> dict[str, Any]:
    """Return what must hold of every message, by the name a finding counts it under."""
    key = [*SESSION_KEY, "message_id"]
    return {
        "message keys are not null": gxe.ExpectColumnValuesToNotBeNull(column="has_whole_key"),
        "message keys are unique": gxe.ExpectCompoundColumnsToBeUnique(column_list=key),
        "message.role is known": gxe.ExpectColumnValuesToBeInSet(column="role", value_set=list(ROLES)),
        "user messages are numbered": gxe.ExpectColumnValuesToBeBetween(column="number_of_user_message", min_value=0),
        "only user messages are numbered": gxe.ExpectColumnValuesToBeInSet(
            column="role_if_numbered", value_set=["user"]
        ),
        "only user messages are flagged": gxe.ExpectColumnValuesToBeInSet(column="role_if_flagged", value_set=["user"]),
        "pair_index is unique in its session": gxe.ExpectCompoundColumnsToBeUnique(
            column_list=[*SESSION_KEY, "pair_index"], ignore_row_if="any_value_is_missing"
        ),
        "pair_index is the ledger's": gxe.ExpectColumnPairValuesToBeEqual(
            column_A="pair_index", column_B="ledger_pair_index", ignore_row_if="both_values_are_missing"
        ),
    }


def _of_sessions(gxe: Any) -> dict[str, Any]:
    return {
        "pair_index is dense, deleted ones counted": gxe.ExpectColumnValuesToBeBetween(
            column="missing_numbers", min_value=0, max_value=0
        ),
        "next_pair_index follows the last number": gxe.ExpectColumnPairValuesToBeEqual(
            column_A="next_pair_index", column_B="numbers"
        ),
    }


def _of_records(gxe: Any, connection: psycopg.Connection[Any]) -> dict[str, Any]:
    registered = [row[0] for row in connection.execute("select source_key from orbitpilot.memory_source order by 1")]
    return {
        "record keys are not null": gxe.ExpectColumnValuesToNotBeNull(column="has_whole_key"),
        "record keys are unique": gxe.ExpectCompoundColumnsToBeUnique(column_list=list(RECORD_KEY)),
        "record.source_key is registered": gxe.ExpectColumnValuesToBeInSet(column="source_key", value_set=registered),
    }


def _unexpected(source: Any, asset: str, expectations: dict[str, Any]) -> dict[str, int]:
    """Return how many rows don't meet each expectation.

    Raises:
        OrbitError: an expectation could not be evaluated at all.
    """
    counts = {}
    for label, result in _validate(source, asset, expectations).items():
        count = 0 if result.success else result.result.get("unexpected_count")
        if count is None:
            raise OrbitError(
                f"Great Expectations could not tell whether '{label}' holds of contract_{asset}. Compare the "
                "application's tables with the columns and types that orbit_pipelines/checking/contract.py names."
            )
        counts[label] = int(count)
    return counts


def _validate(source: Any, asset: str, expectations: dict[str, Any]) -> dict[str, Any]:
    """Return Great Expectations' result for each expectation of a temporary view, counts only."""
    from great_expectations import ExpectationSuite  # noqa: PLC0415 - seconds; see the module

    view = source.add_query_asset(asset, query=f"select * from contract_{asset}")  # noqa: S608 - a name of ours
    batch = view.add_batch_definition_whole_table("all").get_batch()
    suite = ExpectationSuite(name=asset)
    for label, expectation in expectations.items():
        expectation.meta = {"label": label}
        suite.add_expectation(expectation)
    validated = batch.validate(suite, result_format={"result_format": "BASIC", "partial_unexpected_count": 0})
    return {result.expectation_config.meta["label"]: result for result in validated.results}
