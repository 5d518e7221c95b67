"""A vault in a Hugging Face dataset repository, through huggingface_hub.

Each change is one commit on top of the commit that was looked at; if another came in between, the hub refuses it and
it is looked at again. So a name is never overwritten, and a snapshot of several files is there whole or not at all.
Only requested files are fetched. What is deleted is gone from the newest commit; the hub keeps the history.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import BinaryIO, TypeAlias

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, errors
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import logging
from huggingface_hub.utils.tqdm import disable_progress_bars

from holdfast.core.disk import disk_faults
from holdfast.core.errors import (
    Conflict,
    Fault,
    NotFound,
    VaultBusy,
    VaultDamaged,
    VaultFull,
    VaultRefused,
    VaultUnauthorized,
    VaultUnreachable,
)
from holdfast.core.ports import Capabilities, Protection, Upload, VaultObject, VaultState
from holdfast.core.version import VERSION
from holdfast.vault.names import check_name, check_prefix, folder_of, is_name

_KIND = "dataset"
_MAIN = "main"
_CHUNK = 1 << 20
_ROUNDS = 10  # how often others may commit first
_MOVED_ON = 412
_QUIET = 40  # of the client's own log: errors only

# What the client raises for an answer that is a refusal, and for none.
_NOT_TAKEN: tuple[type[Exception], ...] = (
    errors.HfHubHTTPError,
    getattr(errors, "HTTPError", ConnectionError),
    errors.OfflineModeIsEnabled,
    errors.LocalEntryNotFoundError,
    errors.FileMetadataError,
)
Operation: TypeAlias = CommitOperationAdd | CommitOperationDelete


class HubVault:
    """Named bytes as files of a dataset. The dataset must exist; into a public one nothing is put."""

    def __init__(self, dataset: str, url: str, token: str | None):
        self._dataset, self._url = dataset, url.rstrip("/")
        # Without a token none is looked for in other programs' files.
        self._api = HfApi(endpoint=self._url, token=token or False, library_name="holdfast", library_version=VERSION)
        self._committing = Lock()
        logging.set_verbosity(_QUIET)
        disable_progress_bars()

    @property
    def place(self) -> str:
        own = f"hf://datasets/{self._dataset}"
        return own if self._url == "https://huggingface.co" else f"{own} at {self._url}"

    @property
    def can(self) -> Capabilities:
        return Capabilities(together=True)

    def put(self, name: str, data: BinaryIO) -> None:
        check_name(name)
        with _kept([(name, data)]) as files:
            self._put_files(files)

    def put_all(self, parcels: Sequence[Upload]) -> None:
        for parcel in parcels:
            check_name(parcel.name)
        with ExitStack() as stack:
            streams = [(one.name, stack.enter_context(closing(one.open()))) for one in parcels]
            files = stack.enter_context(_kept(streams))
            if files:
                self._put_files(files)

    def _put_files(self, files: dict[str, Path]) -> None:
        def check(head: str) -> None:
            for taken in self._files_at(head, list(files)):
                raise Conflict(f"vault: {taken.name} already exists")

        with _opened(files) as additions:
            self._commit(additions, check, f"Add {_names_for_message(list(files))}")

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        check_name(name)

        def check(head: str) -> None:
            if [one.tag for one in self._files_at(head, [name])] != [tag]:
                raise Conflict(f"vault: {name} was changed by another writer")

        with _kept([(name, data)]) as files, _opened(files) as additions:
            self._commit(additions, check, f"Replace {name}")

    def open(self, name: str) -> BinaryIO:
        check_name(name)
        # The file lives as long as it is open.
        with tempfile.TemporaryDirectory(prefix="holdfast-") as folder, _faults(f"open {name}"):
            path = self._api.hf_hub_download(
                self._dataset, name, repo_type=_KIND, revision=_MAIN, local_dir=folder, etag_timeout=30
            )
            return Path(path).open("rb")

    def stat(self, name: str) -> VaultObject:
        check_name(name)
        found = self._files_at(_MAIN, [name])
        if not found:
            raise NotFound(f"vault: {name} does not exist")
        return found[0]

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        check_prefix(prefix)
        with _faults("list"):
            found = [_named(one) for one in self._tree(folder_of(prefix)) if is_name(one.path)]
        yield from sorted(
            (one for one in found if one.name.startswith(prefix) and one.name > after), key=lambda one: one.name
        )

    def _tree(self, folder: str) -> Iterator[RepoFile]:
        try:
            for one in self._api.list_repo_tree(
                self._dataset, folder.rstrip("/") or None, recursive=True, repo_type=_KIND, revision=_MAIN
            ):
                if isinstance(one, RepoFile):
                    yield one
        except errors.EntryNotFoundError:
            return  # no such folder: no name has this prefix

    def delete(self, name: str) -> None:
        check_name(name)
        gone = False

        def check(head: str) -> None:
            nonlocal gone
            gone = not self._files_at(head, [name])
            if gone:
                raise NotFound(f"vault: {name} does not exist")

        try:
            self._commit([CommitOperationDelete(name, is_folder=False)], check, f"Remove {name}", private=False)
        except NotFound:
            if not gone:
                raise

    def state(self) -> VaultState:
        return VaultState(public=self._head()[1])

    def protection(self, name: str) -> Protection:
        self.stat(name)
        return Protection("nothing")  # the history of a dataset can be rewritten with the same token

    def _head(self) -> tuple[str, bool]:
        """The newest commit, and whether it is public."""
        with _faults("look at the dataset"):
            about = self._api.dataset_info(self._dataset)
        if not about.sha:
            raise VaultDamaged("vault: the hub returned no latest commit of the dataset")
        return about.sha, not about.private

    def _files_at(self, revision: str, names: Sequence[str]) -> Sequence[VaultObject]:
        with _faults("look at files"):
            found = self._api.get_paths_info(self._dataset, [*names], repo_type=_KIND, revision=revision)
        return [_named(one) for one in found if isinstance(one, RepoFile)]

    def _commit(
        self, operations: Sequence[Operation], check: Callable[[str], None], message: str, *, private: bool = True
    ) -> None:
        """Commit on top of the newest commit, at which `check` must not object."""
        with self._committing:
            for _ in range(_ROUNDS):
                head, public = self._head()
                if public and private:
                    raise VaultRefused(
                        "vault: the dataset is public; everyone could read this memory",
                        hint="Make the dataset private in its settings.",
                    )
                check(head)
                if self._committed(operations, head, message):
                    return
        raise VaultBusy("vault: too many concurrent commits to the dataset")

    def _committed(self, operations: Sequence[Operation], head: str, message: str) -> bool:
        """Whether the hub took it; it does not if there is a newer commit."""
        with _faults("commit"):
            try:
                self._api.create_commit(
                    self._dataset, operations, commit_message=message, repo_type=_KIND, parent_commit=head
                )
            except errors.HfHubHTTPError as error:
                if error.response.status_code == _MOVED_ON:
                    return False
                raise
        return True


def _names_for_message(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[-1]} and {len(names) - 1} more"


def _named(file: RepoFile) -> VaultObject:
    sha256 = file.lfs.sha256 if file.lfs else None
    return VaultObject(file.path, file.size, sha256 or file.blob_id, sha256)


@contextmanager
def _kept(streams: Sequence[tuple[str, BinaryIO]]) -> Iterator[dict[str, Path]]:
    """The streams as files of a private folder: the hub wants to know sizes and hashes before it gets the bytes."""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        files = {}
        for number, (name, data) in enumerate(streams):
            files[name] = Path(folder, str(number))
            with disk_faults(f"vault: put {name}"), files[name].open("wb") as file:
                while piece := data.read(_CHUNK):
                    file.write(piece)
        yield files


@contextmanager
def _opened(files: dict[str, Path]) -> Iterator[list[CommitOperationAdd]]:
    """Handed over open, so that they travel by plain HTTP whatever else is installed."""
    with ExitStack() as stack:
        yield [CommitOperationAdd(name, stack.enter_context(path.open("rb"))) for name, path in files.items()]


@contextmanager
def _faults(doing: str) -> Iterator[None]:
    """What the client raises as faults; its texts hold addresses and answers, of which none is passed on."""
    try:
        yield
    except errors.EntryNotFoundError as error:
        if isinstance(error, errors.LocalEntryNotFoundError):
            raise _fault_of(error.__cause__, f"vault: {doing}") from None
        raise NotFound(f"vault: {doing}: not found") from None
    except _NOT_TAKEN as error:
        raise _fault_of(error, f"vault: {doing}") from None
    except RuntimeError as error:  # what happened to one of several uploads is its cause
        if not isinstance(error.__cause__, _NOT_TAKEN):
            raise
        raise _fault_of(error.__cause__, f"vault: {doing}") from None
    except OSError as error:
        if error.errno is None:
            raise VaultDamaged(f"vault: {doing}: the content differs from the listing") from None
        raise


def _fault_of(error: BaseException | None, doing: str) -> Fault:
    if not isinstance(error, errors.HfHubHTTPError):
        return VaultUnreachable(f"{doing}: no response")
    status = error.response.status_code
    if status == 401:
        return VaultUnauthorized(f"{doing}: the hub rejected the token")
    if isinstance(error, errors.RepositoryNotFoundError) or status == 404:
        return VaultRefused(
            f"{doing}: the dataset does not exist, or the token has no access",
            hint="Create it as a private dataset first, or check its name and the token.",
        )
    if status in (429, 503):
        return VaultBusy(
            f"{doing}: rate limit of the hub reached", details=_wait(error.response.headers.get("retry-after"))
        )
    if status in (413, 507):
        return VaultFull(f"{doing}: the hub's storage limit is reached")
    if status >= 500:
        return VaultUnreachable(f"{doing}: the hub returned status {status}")
    return VaultRefused(f"{doing}: the hub returned status {status}")


def _wait(retry_after: str | None) -> dict[str, object]:
    return {"retryAfter": int(retry_after)} if retry_after and retry_after.isdigit() and retry_after.isascii() else {}
