"""The fence: whether every selected session and record is kept out from now on."""

from orbit_pipelines.forgetting.kinds import Depth
from orbit_pipelines.forgetting.roads.sight import Look, Sight


def look_at_fence(sight: Sight) -> Look:
    """Count sessions without a tombstone, and records that are neither excluded nor gone."""
    parameters = sight.selection.parameters()
    open_sessions = sight.connection.execute(
        "select from unnest(%(session_agents)s::text[], %(session_ids)s::text[]) as selected (agent_id, session_id)"
        " where not exists (select from memory.tombstone as tombstone"
        "                    where (tombstone.user_id, tombstone.agent_id, tombstone.session_id)"
        "                        = (%(user_id)s, selected.agent_id, selected.session_id))",
        parameters,
    ).rowcount
    open_records = sight.connection.execute(
        "select from unnest(%(record_agents)s::text[], %(record_sources)s::text[], %(record_ids)s::text[])"
        "         as selected (agent_id, source_key, source_id)"
        "  join orbitpilot.record as record"
        "    on (record.user_id, record.agent_id, record.source_key, record.source_id)"
        "     = (%(user_id)s, selected.agent_id, selected.source_key, selected.source_id)"
        " where not record.is_excluded",
        parameters,
    ).rowcount
    where = {"sessions without a tombstone": open_sessions, "records that aren't excluded": open_records}
    return Look(
        open_sessions + open_records,
        Depth.UNREACHABLE,
        {place: count for place, count in where.items() if count},
        len(parameters["session_ids"]) + len(parameters["record_ids"]),
    )
