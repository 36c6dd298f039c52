"""Dagster's home folder: where its instance file lies, and what Dagster keeps beside its database."""

from pathlib import Path

from orbit_pipelines.settings import PROJECT_ROOT, Settings

INSTANCE_FILE = "dagster.yaml"


def prepare_dagster_home(settings: Settings) -> Path:
    """Return DAGSTER_HOME, holding the project's dagster.yaml as it is now.

    It is a folder of the installation rather than the checkout, where Dagster's logs and history would lie about.
    """
    home = settings.home.expanduser().resolve() / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    wanted = _project_file().read_bytes()
    installed = home / INSTANCE_FILE
    if not installed.exists() or installed.read_bytes() != wanted:
        fresh = installed.with_suffix(".new")
        fresh.write_bytes(wanted)
        fresh.replace(installed)
    return home


def _project_file() -> Path:
    """Return the checkout's dagster.yaml, or the wheel's copy of it."""
    in_checkout = PROJECT_ROOT / INSTANCE_FILE
    return in_checkout if in_checkout.exists() else Path(__file__).with_name(INSTANCE_FILE)
