"""Every rule finds what it is for."""

from __future__ import annotations

import json

import pytest
from secret_samples import Sample, fill, templates

from holdfast.redact import SECRET_MARK, redact_text, redact_value
from holdfast.redact.rules import default_rules

pytestmark = pytest.mark.quick

SAMPLES = [fill(rule, template) for rule, template in templates()]
NAMES = [f"{sample.rule}-{number}" for number, sample in enumerate(SAMPLES)]
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)


def gone(sample: Sample, text: str) -> bool:
    return not any(secret in text for secret in sample.secrets)


def test_every_rule_has_a_sample_and_every_sample_a_rule() -> None:
    assert {rule for rule, _ in templates()} == {rule.id for rule in default_rules().rules}


@every_sample
def test_the_secret_is_gone_and_the_rule_is_named(sample: Sample) -> None:
    result = redact_text(sample.text)
    assert gone(sample, result.value)
    assert SECRET_MARK in result.value
    assert sample.rule in {finding.rule for finding in result.findings}


@every_sample
def test_the_secret_is_gone_between_lines_of_prose(sample: Sample) -> None:
    result = redact_text(f"We looked at the config today.\n{sample.text}\nThen we went on, as before.")
    assert gone(sample, result.value)
    assert result.value.startswith("We looked at the config today.\n")


@every_sample
def test_the_secret_is_gone_from_a_field_of_a_tool_call(sample: Sample) -> None:
    value = {"tool_name": "Bash", "tool_input": {"command": sample.text}, "exit": 0}
    result = redact_value(value)
    assert gone(sample, json.dumps(result.value, ensure_ascii=False))
    assert result.value["tool_name"] == "Bash"
    assert result.value["exit"] == 0


@every_sample
def test_the_secret_is_gone_from_json_inside_a_text(sample: Sample) -> None:
    text = json.dumps({"a": [1, {"b": sample.text}]})
    result = redact_text(text)
    assert gone(sample, result.value)
    assert json.loads(result.value)["a"][0] == 1


@every_sample
def test_findings_and_their_repr_never_hold_the_secret(sample: Sample) -> None:
    result = redact_text(sample.text)
    assert gone(sample, repr(result.findings))
    assert gone(sample, repr(result))
    assert result.count >= 1


@every_sample
def test_other_secrets_of_the_same_format_are_found_as_well(sample: Sample) -> None:
    template = next(template for rule, template in templates() if fill(rule, template) == sample)
    for seed in range(1, 6):
        other = fill(sample.rule, template, seed)
        assert gone(other, redact_text(other.text).value)


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
