"""Every rule finds what it is for."""

from __future__ import annotations

import json

import pytest
from secret_samples import Sample, fill, templates

from holdfast.redact import SECRET_MARK, redact_text, redact_value
from holdfast.redact.rules import default_rules

pytestmark = pytest.mark.quick

SAMPLES = {f"{rule}-{number}": fill(rule, template) for number, (rule, template) in enumerate(templates())}

# A test goes through all samples and names those that fail: there are hundreds, and a test of its own for each takes
# longer than what it looks at.


def gone(sample: Sample, text: str) -> bool:
    return not any(secret in text for secret in sample.secrets)


def test_every_rule_has_a_sample_and_every_sample_a_rule() -> None:
    assert {rule for rule, _ in templates()} == {rule.id for rule in default_rules().rules}


def test_the_secret_is_gone_and_the_rule_is_named() -> None:
    results = {name: redact_text(sample.text) for name, sample in SAMPLES.items()}

    assert [name for name, sample in SAMPLES.items() if not gone(sample, results[name].value)] == []
    assert [name for name, result in results.items() if SECRET_MARK not in result.value] == []
    assert [
        name
        for name, sample in SAMPLES.items()
        if sample.rule not in {finding.rule for finding in results[name].findings}
    ] == []


def test_the_secret_is_gone_between_lines_of_prose() -> None:
    before, after = "We looked at the config today.\n", "\nThen we went on, as before."
    results = {name: redact_text(before + sample.text + after).value for name, sample in SAMPLES.items()}

    assert [name for name, sample in SAMPLES.items() if not gone(sample, results[name])] == []
    assert [name for name, result in results.items() if not result.startswith(before)] == []


def test_the_secret_is_gone_from_a_field_of_a_tool_call() -> None:
    calls = {
        name: redact_value({"tool_name": "Bash", "tool_input": {"command": sample.text}, "exit": 0}).value
        for name, sample in SAMPLES.items()
    }

    assert [
        name for name, sample in SAMPLES.items() if not gone(sample, json.dumps(calls[name], ensure_ascii=False))
    ] == []
    assert {(call["tool_name"], call["exit"]) for call in calls.values()} == {("Bash", 0)}


def test_the_secret_is_gone_from_json_inside_a_text() -> None:
    results = {name: redact_text(json.dumps({"a": [1, {"b": one.text}]})).value for name, one in SAMPLES.items()}

    assert [name for name, sample in SAMPLES.items() if not gone(sample, results[name])] == []
    assert {json.loads(result)["a"][0] for result in results.values()} == {1}


def test_findings_and_their_repr_never_hold_the_secret() -> None:
    results = {name: redact_text(sample.text) for name, sample in SAMPLES.items()}

    assert [name for name, sample in SAMPLES.items() if not gone(sample, repr(results[name].findings))] == []
    assert [name for name, sample in SAMPLES.items() if not gone(sample, repr(results[name]))] == []
    assert [name for name, result in results.items() if result.count < 1] == []


def test_other_secrets_of_the_same_format_are_found_as_well() -> None:
    others = [fill(rule, template, seed) for rule, template in templates() for seed in range(1, 6)]

    assert [(other.rule, other.text) for other in others if not gone(other, redact_text(other.text).value)] == []


def test_a_finding_counts_how_often_its_rule_removed_something() -> None:
    tokens = [fill("github-token", "ghp_{alnum:36}", seed).text for seed in range(3)]
    result = redact_text(" and ".join(tokens))
    assert result.value == " and ".join([SECRET_MARK] * 3)
    assert [(finding.rule, finding.kind, finding.count) for finding in result.findings] == [("github-token", "code", 3)]


def test_a_secret_that_two_rules_know_is_counted_once_for_the_rule_that_knows_its_vendor() -> None:
    sample = fill("github-token", 'token: "ghs_{alnum:36}"')
    result = redact_text(sample.text)
    assert result.value == f'token: "{SECRET_MARK}"'
    assert [finding.rule for finding in result.findings] == ["github-token"]
