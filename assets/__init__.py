"""The Dagster assets, one module a step; thin over orbit_pipelines.building."""
