"""The application's own data and the memory made of it."""

from orbit_pipelines.database.migrations.statements import run_statements

revision = "0001_foundation"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Run the .sql file beside this one."""
    run_statements(__file__)
