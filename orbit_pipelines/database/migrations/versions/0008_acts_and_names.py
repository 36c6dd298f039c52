"""For whom functions act that run as their owner, and when sessions and accounts were called as they were."""

from orbit_pipelines.database.migrations.statements import run_statements

revision = "0008_acts_and_names"
down_revision = "0007_forgotten_records"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Run the .sql file beside this one."""
    run_statements(__file__)
