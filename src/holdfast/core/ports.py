"""Small protocols that the outside fulfils. Their comments are the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.core.errors import Fault
from holdfast.core.model import CleanText, Event

Vectors = NDArray[np.float32]


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since 1970 UTC; may jump either way."""
        ...

    def steady(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""
        ...


class Entropy(Protocol):
    def hex(self, chars: int) -> str:
        """That many unpredictable hexadecimal characters."""
        ...


class Publisher(Protocol):
    def publish(self, event: Event) -> None:
        """Take a committed event. Must return at once and never raise; slow readers are its own concern."""
        ...


class Summarizer(Protocol):
    """A language model that answers one prompt."""

    @property
    def name(self) -> str:
        """Provider and model, for provenance."""
        ...

    def complete(self, instruction: CleanText, text: CleanText, *, max_tokens: int) -> str:
        """The model's answer as text.

        Raises:
            UpstreamFailed: no usable answer in time, or the budget is spent.
        """
        ...


class Reranker(Protocol):
    """A model that reads a question and a text together."""

    @property
    def name(self) -> str:
        """Which model, exactly."""
        ...

    def reads(self, question: str) -> bool:
        """Whether it was trained on the letters of a question."""
        ...

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the question, from about -11 to 11.

        Raises:
            EmbedderUnavailable: the model cannot be used now; a retry is allowed and costs little.
        """
        ...


class Embedder(Protocol):
    """A model that turns text into vectors.

    The product of a question's vector with a text's is their likeness: about 0 for texts that have nothing in common,
    1 at most, on the scale of all-MiniLM-L6-v2's cosines, with which every constant was chosen.
    """

    @property
    def name(self) -> str:
        """Which model, exactly: vectors of different names are never compared."""
        ...

    @property
    def dims(self) -> int:
        """Numbers in each vector."""
        ...

    def prepare(self) -> None:
        """Do what takes long before the first use: find, fetch and load a local model. Called in the background.

        Raises:
            EmbedderUnavailable: the model cannot be loaded; a retry is allowed and costs little.
        """
        ...

    def parts(self, texts: Sequence[CleanText]) -> list[list[CleanText]]:
        """Each text in parts as long as the model reads at once, in order, at least one of each. What lies far beyond
        the beginning of a very long text may be left out.

        Raises:
            EmbedderUnavailable: as above.
        """
        ...

    def embed(self, texts: Sequence[CleanText]) -> Vectors:
        """One row of length 1 for each text, of what the model reads of it. An empty text gets a row too.

        Raises:
            EmbedderUnavailable: as above.
            UpstreamFailed: a remote model gave no usable answer; try again later.
        """
        ...

    def embed_query(self, text: CleanText) -> Vectors:
        """The vector of one question, as fast as can be.

        Raises:
            EmbedderUnavailable, UpstreamFailed: as above; search goes by words then.
        """
        ...

    def likeness(self, one: Vectors, rows: Vectors) -> Vectors:
        """How near in meaning a row of `embed` is to each of other rows."""
        ...

    def fault(self) -> Fault | None:
        """Why it could not be used when it was last tried; None if it could, or was not tried. Discloses no text."""
        ...

    def reads(self, text: str) -> float:
        """How much of a text is in letters that the model knows, 0 to 1; the text is not sent. For the rest
        the model is of little use."""
        ...


@dataclass(frozen=True, slots=True)
class VaultObject:
    """Bytes in a vault: their name and size. What the vault reports beyond that is not part of their identity."""

    name: str
    size: int
    tag: str = field(default="", compare=False)  # another one for other bytes; for `replace`
    sha256: str | None = field(default=None, compare=False)  # as the vault reports it, if it does


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes to be put: their name, how many they are, and how to open them each time they must be sent."""

    name: str
    size: int
    open: Callable[[], BinaryIO]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Optional features of a vault. A caller checks before it relies on one."""

    replace: bool = True
    together: bool = False  # `put_all` is one step: all of them or none
    delete: bool = True
    most_bytes: int | None = None  # of one name
    increments: bool = False  # many names of some megabytes cost little, and what is deleted makes room


@dataclass(frozen=True, slots=True)
class VaultState:
    """The state of a vault, as far as it is known without reading everything."""

    free: int | None = None  # bytes that it still takes; None if unknown
    used: int | None = None
    public: bool = False  # whether it is readable without a credential


Keeper = Literal["lock", "governed", "hold", "attribute", "nothing", "unknown"]
"""What keeps bytes: a lock that nobody lifts, one that a special permission lifts, a hold without an end, an attribute
of the file that root removes."""


@dataclass(frozen=True, slots=True)
class Protection:
    """Whether the place itself refuses to remove bytes, whatever the credential, and until when."""

    by: Keeper
    until: int | None = None  # milliseconds since 1970; None: no end is known


class Vault(Protocol):
    """Named bytes elsewhere. Names are relative paths of safe characters with `/` between their parts.

    Every method may raise the faults of its place, each kind as itself and none of them as "not found":

        VaultUnauthorized, VaultRefused: the credential is not valid, or does not reach this far; or there is no such
            vault.
        VaultBusy: too many requests; `details["retryAfter"]` are the seconds to wait, if the vault names them.
        VaultUnreachable: no answer that can be used.
        VaultDamaged: an answer that contradicts itself.
        VaultFull: no room.
        StorageFull, StorageFailed: a file of this machine's own that is read or written on the way.
        InvalidRequest: that is no name.
    """

    @property
    def place(self) -> str:
        """Where it is, without credentials: for messages, and as the key of what was seen there."""
        ...

    @property
    def can(self) -> Capabilities:
        """What it can do."""
        ...

    def put(self, name: str, data: BinaryIO) -> None:
        """Store the bytes whole or not at all, durable when it returns.

        Raises:
            Conflict: the name exists already; it is never overwritten.
        """
        ...

    def put_all(self, parcels: Sequence[Upload]) -> None:
        """Store all of them in this order; in one step if it can `together`, else some may stay if it fails.

        Raises:
            Conflict: one of the names exists already.
        """
        ...

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        """Store the bytes in the place of those that have this tag, whole or not at all.

        Raises:
            Conflict: the name has other bytes by now, or none.
        """
        ...

    def open(self, name: str) -> BinaryIO:
        """The bytes, to be read and closed. A read may raise the same faults as a method.

        Raises:
            NotFound: there are none of that name.
        """
        ...

    def stat(self, name: str) -> VaultObject:
        """Size and tag of a name.

        Raises:
            NotFound: there are no bytes of that name.
        """
        ...

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        """What lies under the prefix, in the order of names, from the first one after `after` on.

        A caller that was interrupted, or wants only a page, goes on after the last name it saw.
        """
        ...

    def delete(self, name: str) -> None:
        """Remove the bytes; gone already is no fault."""
        ...

    def state(self) -> VaultState:
        """The state of the vault now; at least that it can be reached."""
        ...

    def protection(self, name: str) -> Protection:
        """What keeps the bytes of a name from being removed.

        Raises:
            NotFound: there are no bytes of that name.
        """
        ...
