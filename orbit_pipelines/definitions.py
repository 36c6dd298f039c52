"""The code location: everything that Dagster is told about."""

import dagster as dg

import assets
import checks
from orbit_pipelines import jobs, sensors
from orbit_pipelines.settings import load_settings
from resources import bindings

defs = dg.Definitions(
    assets=dg.load_assets_from_package_module(assets),
    asset_checks=dg.load_asset_checks_from_package_module(checks),
    jobs=[jobs.quick_update, jobs.full_rebuild, jobs.audit, jobs.forget],
    schedules=jobs.schedules,
    sensors=sensors.sensors(load_settings().executor),
    resources=bindings.resources(),
    executor=bindings.executor(load_settings().executor),
)
