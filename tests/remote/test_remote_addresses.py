"""Where requests may go: checked in the URL, and again on the connection that was really made."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_network

import httpx
import pytest
from hypothesis import given, strategies as st
from model_server import ANSWER, INSTRUCTION, KEY, TEXT, ModelServer
from rows import each

from holdfast.core.errors import InvalidSettings, UpstreamFailed
from holdfast.core.model import CleanText
from holdfast.core.ports import Summarizer
from holdfast.remote import address_policy
from holdfast.remote.address_policy import Site, checked_site
from holdfast.remote.guard import AddressGuard, AddressRefused

pytestmark = pytest.mark.quick

Make = Callable[..., Summarizer]
SETTING = "HOLDFAST_OPENAI_URL"


def ask(summarizer: Summarizer) -> str:
    return summarizer.complete(CleanText(INSTRUCTION), CleanText(TEXT), max_tokens=300)


@each(
    "url, words",
    [
        ("ftp://example.com/v1", "http"),
        ("file:///etc/passwd", "http"),
        ("unix:///run/x.sock", "http"),
        ("example.com/v1", "http"),
        ("", "http"),
        ("http://", "no host"),
        ("https://user:hunter2@example.com/v1", "password"),
        ("https://user@example.com/v1", "password"),
        ("https://example.com/v1?key=hunter2", "base URL"),
        ("https://example.com/v1#hunter2", "base URL"),
        ("http://example.com:99999/", "port"),
        ("http://exa mple.com/", "no host"),
        ("http://[fe80::/", "not a URL"),
        (f"http://{'a' * 64}.com/", "not a URL"),
        ("http://a..b/", "not a URL"),
        ("http://169.254.169.254/latest", "link-local"),
        ("https://169.254.169.254/latest", "link-local"),
        ("http://[fe80::1]/v1", "link-local"),
        ("http://[::ffff:169.254.169.254]/", "link-local"),
        ("http://[64:ff9b::a9fe:a9fe]/", "link-local"),
        ("http://[fd00:ec2::254]/", "link-local"),
        ("http://100.100.100.200/", "link-local"),
        ("http://2852039166/", "link-local"),
        ("http://0xa9fea9fe/", "link-local"),
        ("http://169.254.169.254./", "link-local"),
    ],
)
@each("keyed", [True, False])
def test_a_base_url_that_nothing_may_be_sent_to_is_invalid(url: str, words: str, keyed: bool) -> None:
    with pytest.raises(InvalidSettings, match=words) as caught:
        checked_site(SETTING, url, keyed=keyed)
    assert str(caught.value).startswith(f"{SETTING}: ")
    assert "hunter2" not in str(caught.value)


@each("url", ["http://8.8.8.8/v1", "http://[2001:4860:4860::8888]/v1", "http://100.64.0.9/v1"])
def test_plain_http_to_a_public_address_is_refused_only_with_a_key(url: str) -> None:
    with pytest.raises(InvalidSettings, match="plain http"):
        checked_site(SETTING, url, keyed=True)
    assert checked_site(SETTING, url, keyed=False).url.scheme == "http"


@each(
    "url",
    [
        "http://127.0.0.1:11434/v1",
        "http://[::1]:8080",
        "http://10.0.0.7/v1",
        "http://172.16.1.1/v1",
        "http://192.168.1.20:1234/v1",
        "http://[fd12:3456::1]/v1",
        "http://localhost:11434/v1",
        "https://api.openai.com/v1",
        "https://8.8.8.8/v1",
    ],
)
def test_local_models_and_https_are_welcome_with_a_key(url: str) -> None:
    assert checked_site(SETTING, url, keyed=True).keyed


@given(st.integers(0, 0xFFFF))
def test_every_link_local_address_is_refused_also_inside_ipv6(low: int) -> None:
    ip = IPv4Address((169 << 24 | 254 << 16) + low)
    forms = [str(ip), f"::ffff:{ip}", str(IPv6Address((0x64FF9B << 96) | int(ip))), str(sixtofour(ip))]
    site = Site(httpx.URL("https://models.example"), keyed=False)
    assert all(site.refusal(form) for form in forms)


def sixtofour(ip: IPv4Address) -> IPv6Address:
    return IPv6Address((0x2002 << 112) | (int(ip) << 80))


def test_a_link_local_address_with_a_zone_is_refused() -> None:
    assert Site(httpx.URL("https://models.example"), keyed=False).refusal("fe80::1%eth0")


def test_a_name_that_leads_to_a_forbidden_address_gets_no_request(
    monkeypatch: pytest.MonkeyPatch, summarizer_for: Make, server: ModelServer
) -> None:
    url = server.origin.replace("127.0.0.1", "localhost") + "/v1"
    summarizer = summarizer_for(openai_url=url)
    assert ask(summarizer) == ANSWER
    monkeypatch.setattr(address_policy, "FORBIDDEN", (ip_network("127.0.0.0/8"), ip_network("::1/128")))
    with pytest.raises(UpstreamFailed, match="metadata addresses are refused") as caught:
        ask(summarizer)
    assert not caught.value.retryable
    assert len(server.seen) == 1


def test_a_name_that_leads_to_the_open_network_gets_no_key_over_plain_http(
    monkeypatch: pytest.MonkeyPatch, summarizer_for: Make, server: ModelServer
) -> None:
    url = server.origin.replace("127.0.0.1", "localhost") + "/v1"
    keyed, keyless = summarizer_for(openai_url=url), summarizer_for(openai_url=url, openai_key=None)
    monkeypatch.setattr(address_policy, "LOCAL", ())
    with pytest.raises(UpstreamFailed, match="plain http") as caught:
        ask(keyed)
    assert KEY not in str(caught.value)
    assert server.seen == []
    assert ask(keyless) == ANSWER


def test_a_connection_that_was_not_checked_is_refused() -> None:
    guard = AddressGuard(lambda _: None, 60)
    with guard, pytest.raises(AddressRefused):
        guard.trace("http11.send_request_headers.started", {})


def test_proxies_in_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, summarizer_for: Make, server: ModelServer
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert ask(summarizer_for()) == ANSWER
