"""What a forget leaves behind as its proof, and the way back it closes."""

from orbit_pipelines.database.migrations.statements import run_statements

revision = "0004_forgetting"
down_revision = "0003_admission"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Run the .sql file beside this one."""
    run_statements(__file__)
