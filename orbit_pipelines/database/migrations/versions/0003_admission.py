"""Admission rules: which sessions may enter memory from now on."""

from orbit_pipelines.database.migrations.statements import run_statements

revision = "0003_admission"
down_revision = "0002_roles"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Run the .sql file beside this one."""
    run_statements(__file__)
