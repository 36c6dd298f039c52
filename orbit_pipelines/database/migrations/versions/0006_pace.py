"""What keeps a small publish from reading large tables."""

from orbit_pipelines.database.migrations.statements import run_statements

revision = "0006_pace"
down_revision = "0005_web"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Run the .sql file beside this one."""
    run_statements(__file__)
