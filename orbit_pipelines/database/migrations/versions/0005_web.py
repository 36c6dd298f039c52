"""What the web pages need: how people sign in, and what administrators may count."""

from orbit_pipelines.database.migrations.statements import run_statements

revision = "0005_web"
down_revision = "0004_forgetting"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Run the .sql file beside this one."""
    run_statements(__file__)
