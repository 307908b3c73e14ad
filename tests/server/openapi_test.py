"""The server against its own description: what it says is accepted is, what it says is refused is, and every answer has the shape that it
promises. Values are made by schemathesis, the same ones in every run; a piece lasts a second at most, so that it may make many."""
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from support import serving

EXAMPLES = 12  # of each operation and kind


def test_as_described():
    wrong, checked = [], 0
    with serving("--max-seconds", 1, "--max-queue", 1000, "--max-takes", 2, "--max-batch", 2, "--max-segments", 2, "--max-uploads", 100000) as server:
        schema = schemathesis.openapi.from_url(server.url + "/openapi.json")
        for result in schema.get_all_operations():
            operation = result.ok()
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                @given(case=operation.as_strategy(generation_mode=mode))
                @settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
                          suppress_health_check=list(HealthCheck))
                def check(case):
                    # Whether a value is accepted depends on more than its schema: on limits, uploads that exist, fields beside it.
                    case.call_and_validate(timeout=60, excluded_checks=[positive_data_acceptance])
                try:
                    check()
                    checked += 1
                except Unsatisfiable:
                    pass  # nothing about it can be wrong
                except (Exception, BaseExceptionGroup) as error:  # one operation's mistakes hide no other's
                    wrong.append(f"{operation.label} ({mode.value}):\n" + "\n".join(str(one) for one in getattr(error, "exceptions", [error])))
        assert server.process.poll() is None
    assert not wrong, f"{len(wrong)} operations:\n\n" + "\n\n".join(wrong)
    assert checked > 30
