import dagster as dg

from resources.bindings import resources


@dg.asset
def careless() -> str:
    return "what somebody said"


def test_a_value_that_a_step_returns_is_refused_rather_than_stored() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize([careless], resources=resources(), instance=instance, raise_on_error=False)

    [failure] = [event for event in result.all_events if event.is_step_failure]
    assert "must not lie" in str(failure.step_failure_data.error)
