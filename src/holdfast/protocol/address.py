"""Addresses of memories: domain://path. Knows neither what lies there nor who may see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.core.errors import Conflict, InvalidRequest
from holdfast.core.ports import Entropy
from holdfast.core.system import SystemEntropy
from holdfast.text.text_checks import check_text

SEPARATOR = "://"
PATH_CHARS = 8
MOST_PATH_CHARS = 32
ADDRESS_CHARS = 512


@dataclass(frozen=True, slots=True)
class MemoryURI:
    """An address. Its text reads back as the same address."""

    domain: str
    path: str

    @classmethod
    def parse(cls, uri: str) -> MemoryURI:
        """The address that the text is, cut at the first `://`; nothing is trimmed or changed.

        Raises:
            ValueError: there is no `://`, or nothing on one side of it.
        """
        domain, found, path = uri.partition(SEPARATOR) if isinstance(uri, str) else ("", "", "")
        if not (domain and found and path):
            raise ValueError("Invalid memory URI format: domain://path is expected")
        return cls(domain, path)

    @classmethod
    def generate(
        cls, domain: str, *, entropy: Entropy | None = None, taken: Callable[[str], bool] | None = None
    ) -> MemoryURI:
        """A new address of eight random digits; a taken one makes it longer.

        Eight digits are 32 bits, so that among 77,000 addresses of a domain two are likely to be equal:
        a caller that stores them should pass `taken`.

        Raises:
            Conflict: no free address was found, which chance alone does not explain.
        """
        chance = entropy or SystemEntropy()
        for chars in range(PATH_CHARS, MOST_PATH_CHARS + 1, 4):
            made = cls(domain, chance.hex(chars))
            if taken is None or not taken(str(made)):
                return made
        raise Conflict("no free address in the domain")

    def __str__(self) -> str:
        return f"{self.domain}{SEPARATOR}{self.path}"


def check_address(text: str) -> MemoryURI:
    """The address, if a new memory may have it: one visible line without spaces at its ends.

    Reading is less strict: whatever an older system stored must stay reachable.

    Raises:
        InvalidRequest: it is none; the message has the reason, never the address.
    """
    check_text(text)
    if len(text) > ADDRESS_CHARS:
        raise InvalidRequest(f"the address has {len(text)} characters; the limit is {ADDRESS_CHARS}")
    if not text.isprintable():
        raise InvalidRequest("the address contains a line break or an invisible character")
    try:
        uri = MemoryURI.parse(text)
    except ValueError:
        raise InvalidRequest("the address is not of the form domain://path") from None
    if uri.domain != uri.domain.strip() or uri.path != uri.path.strip() or any(map(str.isspace, uri.domain)):
        raise InvalidRequest("the address has a space at an end or in its domain")
    return uri
