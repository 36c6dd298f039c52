"""What keeps forgotten records out, and what sessions, records and accounts were called before."""

from orbit_pipelines.database.migrations.statements import run_statements

revision = "0007_forgotten_records"
down_revision = "0006_pace"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Run the .sql file beside this one."""
    run_statements(__file__)
