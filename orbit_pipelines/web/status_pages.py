"""Memory Status as a page: what ``telling.memory_status`` tells, and the eyes that take a mark back."""

from dataclasses import replace

from fastapi import APIRouter
from starlette.responses import Response

from orbit_pipelines.model import CHAT_HISTORY
from orbit_pipelines.sources.blinks import BLINKS_SOURCE
from orbit_pipelines.telling.memory_status import memory_status
from orbit_pipelines.web.rendering import render
from orbit_pipelines.web.urls import MEMORY_STATUS, session_url
from orbit_pipelines.web.visits import BriefVisit, Visit

router = APIRouter()


@router.get(MEMORY_STATUS)
def memory_status_page(brief: BriefVisit) -> Response:
    """Show how memory stands for the person, at one moment: else a build in between would make counts disagree."""
    user_id = brief.user.user_id
    with brief.site.database.acting_for(user_id, is_one_moment=True) as connection:
        return _shown(replace(brief, database=connection))


def _shown(visit: Visit) -> Response:
    status = memory_status(visit.connection, visit.user.user_id)
    return render(
        visit,
        "memory_status.html",
        status=status,
        chat=next((source for source in status.sources if source.source_key == CHAT_HISTORY), None),
        blinks_source=BLINKS_SOURCE,
        session_url=session_url,
    )
