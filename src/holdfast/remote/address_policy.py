"""Which addresses a request may go to.

Base URLs come from the operator and are mostly trusted: local models are allowed. Never allowed are a cloud's
metadata address, and a key in clear text on the open network. A name is judged by the
address it really connected to (see guard.py), because it may resolve differently from one call to the next.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpx

from holdfast.core.errors import InvalidSettings

# Link-local, where clouds serve the machine's credentials, and the metadata addresses outside it:
# AWS over IPv6, Alibaba Cloud, Azure's host agent.
FORBIDDEN = tuple(
    ip_network(net)
    for net in ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "100.100.100.200/32", "168.63.129.16/32")
)
# Loopback and the private ranges of RFC 1918 and RFC 4193: plain HTTP stays on the own machine or network.
LOCAL = tuple(
    ip_network(net) for net in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
)
NAT64 = ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Site:
    """A checked base URL, and whether a key is sent to it."""

    url: httpx.URL
    keyed: bool

    def refusal(self, address: str) -> str | None:
        """Why nothing may be sent to this IP address, or None when it may."""
        ip = _plain(address)
        if any(ip in net for net in FORBIDDEN):
            return "link-local and metadata addresses are refused"
        if self.keyed and self.url.scheme == "http" and not is_local(address):
            return "an API key is sent over plain http only to this machine and private networks"
        return None

    def to(self, path: str) -> httpx.URL:
        """The URL of one path below the base."""
        return self.url.copy_with(raw_path=self.url.raw_path.rstrip(b"/") + path.encode("ascii"))


def checked_site(setting: str, raw: str, *, keyed: bool) -> Site:
    """The site at a base URL.

    Raises:
        InvalidSettings: the URL cannot be used. The message names the setting; the URL may hold a password.
    """
    try:
        url = httpx.URL(raw)
        url.host.encode("idna")  # the system resolver's own rule; a bad name must not surface in a call
    except (httpx.InvalidURL, UnicodeError):
        raise InvalidSettings(f"{setting}: not a URL") from None
    if problem := _problem(url):
        raise InvalidSettings(f"{setting}: {problem}")
    site = Site(url, keyed)
    if (literal := _literal(url.host)) and (refusal := site.refusal(literal)):
        raise InvalidSettings(f"{setting}: {refusal}")
    return site


def is_local(address: str) -> bool:
    """Whether an IP address is of this machine or its private network."""
    ip = _plain(address)
    return any(ip in net for net in LOCAL)


def _problem(url: httpx.URL) -> str | None:
    if url.scheme not in {"http", "https"}:
        return "must begin with http:// or https://"
    if not url.host or "%" in url.host:
        return "has no host"
    if url.port is not None and url.port > 65535:
        return "has a port above 65535"
    if url.userinfo:
        return "must not contain a user or password; use the setting for the key"
    if url.query or url.fragment:
        return "must be a base URL, without ? or #"
    return None


def _literal(host: str) -> str | None:
    """The IP address that a host is, also in the old forms that resolvers take: 2852039166, 0xa9fea9fe."""
    host = host.rstrip(".")
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def _plain(address: str) -> IPv4Address | IPv6Address:
    """The address itself, also when it is IPv4 inside IPv6 (mapped, 6to4, NAT64)."""
    ip = ip_address(address)
    if isinstance(ip, IPv4Address):
        return ip
    if ip in NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip
