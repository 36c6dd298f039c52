"""Findings as Dagster shows them: counts, and ids in a list; never a message's text."""

import dagster as dg

from assets.metadata import table
from orbit_pipelines.checking.finding import Finding, Severity

_SEVERITIES = {Severity.ERROR: dg.AssetCheckSeverity.ERROR, Severity.WARN: dg.AssetCheckSeverity.WARN}


def result_of(finding: Finding) -> dg.AssetCheckResult:
    """Return a finding as the result of the check that made it."""
    return dg.AssetCheckResult(
        passed=finding.passed,
        severity=_SEVERITIES[finding.severity],
        description=finding.summary,
        metadata={
            **finding.seen,
            "what would break it": table({"kind": "string", "count": "int"}, finding.failures.items()),
            **({"examples": dg.MetadataValue.json(list(finding.examples))} if finding.examples else {}),
        },
    )
