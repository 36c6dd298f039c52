"""Dagster's home folder: where its instance file lies, and what Dagster keeps beside its database."""

from pathlib import Path

from orbit_pipelines.settings import PROJECT_ROOT, Settings

INSTANCE_FILE = "dagster.yaml"


def prepare_dagster_home(settings: Settings) -> Path:
    """Return DAGSTER_HOME, holding the project's dagster.yaml as it is now.

    It is a folder of the installation rather than the checkout, where Dagster's logs and history would lie about.
    """
    home = settings.home / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    wanted = project_file(INSTANCE_FILE).read_bytes()
    installed = home / INSTANCE_FILE
    if not installed.exists() or installed.read_bytes() != wanted:
        fresh = installed.with_suffix(".new")
        fresh.write_bytes(wanted)
        fresh.replace(installed)
    return home


def project_file(name: str) -> Path:
    """Return a file of the top of the checkout, or the wheel's copy of it inside the package."""
    in_checkout = PROJECT_ROOT / name
    return in_checkout if in_checkout.exists() else Path(__file__).with_name(name)
