"""A long run that failed is titled by what failed, whatever the tool and wherever in its output it says so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.intake.event.draft import EventDraft, compress
from holdfast.intake.event.failures import failing_names
from holdfast.text.excerpt import excerpt, failures

pytestmark = pytest.mark.quick

TAP = "not ok 412 - checkout applies the voucher before tax\n    AssertionError: expected 41.65 to equal 41.64\n# pass 411\n# fail 1"
PYTEST = (
    "E       assert 41.65 == 41.64\n=== short test summary info ===\n"
    "FAILED tests/checkout/test_voucher.py::test_before_tax - assert 41.65 == 41.64\n=== 1 failed, 411 passed in 9.12s ==="
)
JEST = "  ● checkout › applies the voucher before tax\n\n    expect(received).toBe(expected)\n\nTests:       1 failed, 411 passed, 412 total"
VITEST = " FAIL  test/checkout.spec.ts > checkout > applies the voucher\nAssertionError: expected 41.65 to be 41.64\n Tests  1 failed | 411 passed (412)"
GO = "--- FAIL: TestVoucherBeforeTax (0.01s)\n    totals_test.go:88: got 4165, want 4164\nFAIL\nFAIL\texample.org/checkout\t0.412s"
CARGO = "test totals::voucher_before_tax ... FAILED\n\nfailures:\n\ntest result: FAILED. 411 passed; 1 failed; 0 ignored; 0 measured"
GRADLE = "app.CheckoutTest > appliesVoucher FAILED\n    java.lang.AssertionError at CheckoutTest.kt:88\n\n412 tests completed, 1 failed\n\n> Task :app:test FAILED"
TERRAFORM = '╷\n│ Error: Invalid count argument\n│ \n│   on main.tf line 12, in resource "aws_subnet" "private":\n╵'
KUBECTL = "api-7d9f-x2x1   0/1   CrashLoopBackOff   5   3m"
UNITTEST = "FAIL: test_before_tax (checkout.test_voucher.Voucher)\n----\nAssertionError: 41.65 != 41.64\n\nRan 412 tests in 3.1s\n\nFAILED (failures=1)"

GREEN = {
    TAP: "  ok {n} - keeps the order of item {n}",
    PYTEST: "tests/test_{n}.py::test_order PASSED",
    JEST: "  ✓ keeps the order of item {n} (3 ms)",
    VITEST: " ✓ test/order{n}.spec.ts (4 tests) 12ms",
    GO: "--- PASS: TestOrder{n} (0.00s)",
    CARGO: "test order::item_{n} ... ok",
    GRADLE: "app.OrderTest > keepsItem{n} PASSED",
    TERRAFORM: "aws_subnet.public[{n}]: Refreshing state... [id=subnet-{n}]",
    KUBECTL: "web-{n}   1/1   Running   0   12d",
    UNITTEST: "test_order_{n} (orders.Test) ... ok",
}
NAMES = {
    TAP: "checkout applies the voucher before tax",
    PYTEST: "tests/checkout/test_voucher.py::test_before_tax",
    JEST: "checkout › applies the voucher before tax",
    VITEST: "test/checkout.spec.ts > checkout > applies the",
    GO: "TestVoucherBeforeTax",
    CARGO: "totals::voucher_before_tax",
    GRADLE: "app.CheckoutTest > appliesVoucher",
    TERRAFORM: "Invalid count argument",
    KUBECTL: "api-7d9f-x2x1 0/1 CrashLoopBackOff",
    UNITTEST: "test_before_tax (checkout.test_voucher.Voucher)",
}
IDS = ["TAP", "pytest", "jest", "vitest", "go", "cargo", "gradle", "terraform", "kubectl", "unittest"]


def run(end: str, *, failed: bool, command: str = "make test", after: int = 0) -> EventDraft:
    green = [GREEN[end].format(n=number) for number in range(1, 401)]
    output = "\n".join([*green, end, *green[:after]])
    data: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}}
    if failed:
        return compress("post_tool_failure", {**data, "error": f"Exit code 1\n{output}"})
    return compress("post_tool_use", {**data, "tool_output": {"stdout": output, "stderr": ""}})


@each("end", NAMES)
@each("failed", [True, False])
@each("after", [0, 400])
def test_four_hundred_green_lines_and_one_failure_are_titled_by_the_failure(end: str, failed: bool, after: int) -> None:
    made = run(end, failed=failed, after=after)
    assert NAMES[end] in made.title
    assert any(NAMES[end][:40] in fact for fact in made.facts)
    assert NAMES[end][:40] in made.narrative


def test_a_failure_that_no_rule_knows_is_titled_by_its_last_line_and_not_by_the_exit_code() -> None:
    log = "\n".join(f"manifest {number} handled in 12 ms" for number in range(200))
    error = f"Exit code 1\n{log}\n429 Too Many Requests: 2 requests per second are allowed"
    made = compress("post_tool_failure", {"tool_name": "Bash", "tool_input": {"command": "./jobs"}, "error": error})
    assert "429 Too Many Requests" in made.title


@each("end", NAMES)
def test_a_run_that_went_well_has_no_failure_in_its_title(end: str) -> None:
    made = compress(
        "post_tool_use",
        {
            "tool_name": "Bash",
            "tool_input": {"command": "make test"},
            "tool_output": {"stdout": "\n".join(GREEN[end].format(n=number) for number in range(400))},
        },
    )
    assert "fail" not in made.title.lower()


def test_a_log_that_is_only_read_did_not_fail_itself() -> None:
    data = {
        "tool_name": "Bash",
        "tool_input": {"command": "cat notes.txt"},
        "tool_output": {"stdout": TAP, "exit_code": 0},
    }
    assert compress("post_tool_use", {**data, "tool_output": "see:\nError: nothing here"}).title == "Ran cat notes.txt"


def test_an_excerpt_keeps_beginning_end_and_failures_within_its_size() -> None:
    text = "\n".join(["first", *["fine"] * 5_000, "not ok 7 - the middle one", *["fine"] * 5_000, "last"])
    kept = excerpt(text, 1_000)
    assert len(kept) <= 1_000
    assert kept.startswith("first\n")
    assert kept.endswith("\nlast")
    assert "not ok 7 - the middle one" in kept


@given(st.text(max_size=400), st.integers(50, 300))
def test_an_excerpt_never_grows(text: str, most: int) -> None:
    kept = excerpt(text, most)
    assert len(kept) <= max(most, 0)
    assert kept == text if len(text) <= most else kept[:10] == text[:10]


@given(st.text(max_size=300))
def test_any_text_can_be_searched_for_failures(text: str) -> None:
    assert all(line in text for line in failures(text))
    assert len(failing_names(text)) <= 8


@each("line", ["0 failed, 12 passed", "no errors found", "found 0 errors", "Tests: 0 failures"])
def test_a_line_that_counts_no_failures_is_none(line: str) -> None:
    assert failures(line) == []


FIELDS = (
    "old_string new_string originalFile structuredPatch filePath oldString newString userModified replaceAll numLines"
)


def test_names_of_json_fields_are_no_concepts() -> None:
    given_ = {"file_path": "/w/src/limits.ts", "old_string": "perMinute(60)", "new_string": "perMinute(240)"}
    response = {
        "filePath": "/w/src/limits.ts",
        "oldString": "perMinute(60)",
        "newString": "perMinute(240)",
        "originalFile": "export const limits = perMinute(60)",
        "structuredPatch": [{"oldStart": 1, "lines": ["-perMinute(60)", "+perMinute(240)"]}],
        "userModified": False,
        "replaceAll": False,
    }
    for output in (response, str(response).replace("'", '"')):
        made = compress("post_tool_use", {"tool_name": "Edit", "tool_input": given_, "tool_output": output})
        assert not set(FIELDS.lower().split()) & set(made.concepts)
        assert "limits" in made.concepts


def test_a_file_of_the_project_is_shown_as_seen_from_there() -> None:
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "/home/dev/shop/src/http/limits.ts"}}
    assert compress("post_tool_use", edit, "/home/dev/shop").title == "Edited src/http/limits.ts"
    assert compress("post_tool_use", edit, "/home/dev/sho").title == "Edited http/limits.ts"
    assert compress("post_tool_use", edit).title == "Edited http/limits.ts"
