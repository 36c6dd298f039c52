"""What the sample's files say: plans, people, whose file is whose, what they don't want remembered, their records."""

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable

from pydantic import AwareDatetime, BaseModel, ConfigDict, TypeAdapter

FOLDER: Traversable = files("orbit_pipelines.sample")


class _Described(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SamplePlan(_Described):
    """A plan with its cap, and its rows for sources; a source without one follows its own default."""

    plan_key: str
    title: str
    included_sources: int
    assignments: dict[str, bool] = {}


class SampleAccount(_Described):
    """A person, their plan (None for the default one), and the file of this folder that holds their history."""

    user_id: str
    plan_key: str | None = None
    locale: str
    file: str


class NotRemembered(_Described):
    """A message its author doesn't want remembered."""

    user_id: str
    session_id: str
    message_id: str


class SampleRecord(_Described):
    """A blink, a document or a profile fact."""

    user_id: str
    source_key: str
    source_id: str
    title: str | None
    content: str
    recorded_at: AwareDatetime
    is_excluded: bool = False
    origin_session_id: str | None = None
    origin_message_id: str | None = None


class SampleInstallation(_Described):
    """All of the sample but the conversations themselves."""

    plans: tuple[SamplePlan, ...]
    accounts: tuple[SampleAccount, ...]
    not_remembered: tuple[NotRemembered, ...]
    records: tuple[SampleRecord, ...]

    def plan(self, plan_key: str) -> SamplePlan:
        """Return the plan of that key."""
        return next(plan for plan in self.plans if plan.plan_key == plan_key)


def read_installation() -> SampleInstallation:
    """Return what ``installation.toml`` and ``records.json`` say."""
    described = tomllib.loads(FOLDER.joinpath("installation.toml").read_text("utf-8"))
    records = TypeAdapter(tuple[SampleRecord, ...]).validate_json(FOLDER.joinpath("records.json").read_bytes())
    return SampleInstallation(**described, records=records)
