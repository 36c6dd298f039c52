"""Row-level security by user, and the one way sign-in reads accounts."""

from orbit_pipelines.database.migrations.statements import run_statements

revision = "0002_roles"
down_revision = "0001_foundation"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Run the .sql file beside this one; roles and grants follow every migration (``database.roles``)."""
    run_statements(__file__)
