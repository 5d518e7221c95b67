"""The journal of a memory in its vault, and the memory as it was at any moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from flows import identity_file, recipient
from harm import flip_bit
from journal_steps import Journaled, journal_objects

from holdfast.core.errors import IdentityNeeded, InvalidRequest, NotFound, RestorePending, SnapshotDamaged
from holdfast.core.model import Caller
from holdfast.core.times import iso
from holdfast.serve.background.journal_thread import JournalThreads
from holdfast.snapshot.journal.journal_writer import JournalWriter
from holdfast.snapshot.repo.context import snapshot_context

pytestmark = pytest.mark.embedded  # on PostgreSQL there is no journal


@pytest.fixture
def home(tmp_path: Path) -> Journaled:
    return Journaled(tmp_path / "home", tmp_path / "vault")


def elsewhere(home: Journaled, tmp_path: Path, name: str = "elsewhere") -> Journaled:
    """Another machine with the same vault."""
    return Journaled(tmp_path / name, tmp_path / "vault", chance=1_000 + sum(map(ord, name)) * 1_000)


def test_an_empty_folder_gets_every_write_that_the_vault_has(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one: the gateway listens on 8443.")
    home.piece()
    home.observe(prompt="Which port does the gateway use?")
    home.remember("Fact two: deploys are on Friday.")
    home.piece()

    other = elsewhere(home, tmp_path)

    assert other.texts() == home.texts()
    assert other.engine.store.verify() == []
    assert other.found("deploys Friday")
    assert "the journal up to" in other.call("memories")["notice"]


def test_what_a_snapshot_holds_is_not_needed_from_the_journal(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one: the gateway listens on 8443.")
    home.piece()
    home.snapshot()
    home.remember("Fact two: deploys are on Friday.")
    home.piece()
    home.clock.now += 1
    home.compaction().expire(home.line, home.clock.now, home.clock.now)
    assert len(journal_objects(tmp_path / "vault")) == 1

    assert elsewhere(home, tmp_path).texts() == home.texts()


@pytest.mark.parametrize("written_since", [True, False])
def test_damaged_snapshots_cost_nothing_where_the_journal_goes_on_from_an_older_one(
    home: Journaled, tmp_path: Path, written_since: bool
) -> None:
    for number in range(3):
        home.remember(f"Fact {number} of four.")
        home.piece()
        id = home.snapshot()
        if number:
            _spoil(tmp_path / "vault", id)
    if written_since:
        home.remember("Fact 3 of four.")
        home.piece()

    other = elsewhere(home, tmp_path)

    assert other.texts() == home.texts()
    assert other.engine.store.verify() == []
    other.clock.now = home.clock.now + 1_000
    made = other.call("snapshot_restore", at=iso(home.clock.now), yes=True)
    assert made["warnings"][0].startswith("Damaged in the vault: ")
    assert id in made["warnings"][0]


def test_a_damaged_snapshot_is_not_passed_over_where_the_journal_lacks_what_it_held(
    home: Journaled, tmp_path: Path
) -> None:
    for number in range(2):
        home.remember(f"Fact {number} of two.")
        home.piece()
        id = home.snapshot()
    _spoil(tmp_path / "vault", id)
    home.clock.now += 1
    home.compaction().expire(home.line, home.clock.now, home.clock.now)

    with pytest.raises(RestorePending, match="content differs"):
        elsewhere(home, tmp_path).texts()


def _spoil(vault: Path, id: str) -> None:
    (body,) = vault.rglob(f"{id}.tar.zst")
    body.chmod(0o600)
    body.write_bytes(bytes(body.stat().st_size))


def test_any_moment_can_be_restored_and_undone(home: Journaled) -> None:
    moments = []
    for number in range(4):
        home.remember(f"Fact {number} of four.")
        moments.append(home.piece())
        if number == 1:
            home.snapshot()
    every = home.texts()

    for count, moment in enumerate(moments, 1):
        home.clock.now += 1_000
        made = home.call("snapshot_restore", at=iso(moment), yes=True)
        assert made["upto"] == iso(moment)
        assert home.texts() == {f"Fact {number} of four." for number in range(count)}
        assert home.engine.store.verify() == []
        home.call("snapshot_undo", yes=True)
        assert home.texts() == every


def test_a_moment_between_two_pieces_is_the_one_before(home: Journaled) -> None:
    home.remember("Fact one.")
    first = home.piece()
    home.clock.now += 30_000
    home.remember("Fact two.")
    home.piece()

    assert home.texts_at(iso(first + 500)) == {"Fact one."}
    assert home.texts_at(iso(first + 25_000)) == {"Fact one."}


def test_a_pause_in_which_nothing_was_written_is_no_gap(home: Journaled) -> None:
    threads = JournalThreads(home.engine)  # their steps one by one, on the clock of this test
    cutter, sender = threads._cutter, threads.sender

    def write(text: str) -> int:
        home.remember(text)
        home.clock.now += 1_000
        cutter._look()
        sender._send_all()
        return home.clock.now

    first = write("Fact one.")
    for _ in range(30):
        home.clock.now += 1_000
        cutter._look()
    write("Fact two.")
    stopped = home.clock.now + 500
    home.clock.now += 30_000  # nothing looked meanwhile
    write("Fact three.")

    quiet = home.call("snapshot_restore", at=iso(first + 25_000), dryRun=True)
    unknown = home.call("snapshot_restore", at=iso(stopped), dryRun=True)

    assert "warnings" not in quiet
    assert "The journal has no moment between" in unknown["warnings"][0]


def test_a_time_of_day_is_the_last_that_the_clock_showed(home: Journaled) -> None:
    home.remember("Fact one.")
    moment = home.piece()
    home.remember("Fact two.")
    home.piece()

    assert home.texts_at(iso(moment)[11:19]) == {"Fact one."}
    with pytest.raises(NotFound):
        home.texts_at(iso(home.clock.now + 60_000)[11:19])  # of yesterday


def test_changes_and_removals_are_of_their_moment(home: Journaled) -> None:
    kept = home.remember("Fact one is kept.")
    gone = home.remember("Fact two is removed.")
    first = home.piece()
    home.call("forget", memoryId=gone)
    home.call("evolve", memoryId=kept, newContent="Fact one is kept, and more of it is known.")
    second = home.piece()

    assert home.texts_at(iso(first)) == {"Fact one is kept.", "Fact two is removed."}
    assert home.texts_at(iso(second)) == home.texts() == {"Fact one is kept, and more of it is known."}


def test_two_moments_can_be_compared(home: Journaled) -> None:
    home.remember("Fact one.")
    first = home.piece()
    home.remember("Fact two.")
    second = home.piece()

    found = home.call("snapshot_diff", a=iso(first), b=iso(second))

    assert (found["a"], found["b"]) == (iso(first), iso(second))
    added = {one["table"]: one["added"] for one in found["tables"]}
    assert added["memories"] == 1
    assert home.call("snapshot_diff", a=iso(second))["same"]


def test_a_preview_of_a_moment_changes_nothing(home: Journaled) -> None:
    home.remember("Fact one.")
    first = home.piece()
    home.remember("Fact two.")
    home.piece()

    found = home.call("snapshot_restore", at=iso(first), dryRun=True)

    assert {one["table"]: one["removed"] for one in found["difference"]["tables"]}["memories"] == 1
    assert home.texts() == {"Fact one.", "Fact two."}


def test_a_moment_and_a_snapshot_exclude_each_other(home: Journaled) -> None:
    home.remember("Fact one.")
    moment = home.piece()
    id = home.snapshot()

    with pytest.raises(InvalidRequest, match="named as well"):
        home.call("snapshot_restore", id=id, at=iso(moment), yes=True)


def test_after_a_restore_the_journal_goes_on_in_a_new_line(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    first = home.piece()
    home.remember("Fact two, which is given up.")
    given_up = home.piece()
    line = home.line
    home.call("snapshot_restore", at=iso(first), yes=True)
    home.remember("Fact three.")
    home.piece()

    assert home.line != line
    assert elsewhere(home, tmp_path).texts() == {"Fact one.", "Fact three."}
    assert home.texts_at(iso(given_up)) == {"Fact one.", "Fact two, which is given up."}
    home.call("snapshot_undo", yes=True)
    home.remember("Fact four.")
    home.piece()
    both = {"Fact one.", "Fact two, which is given up.", "Fact four."}
    assert elsewhere(home, tmp_path, "third").texts() == home.texts() == both


def test_a_memory_goes_on_from_machine_to_machine(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    second = elsewhere(home, tmp_path, "second")
    second.clock.now = home.clock.now
    second.remember("Fact two.")
    second.piece()
    third = elsewhere(home, tmp_path, "third")
    third.clock.now = second.clock.now
    third.remember("Fact three.")
    third.piece()

    assert elsewhere(home, tmp_path, "fourth").texts() == {"Fact one.", "Fact two.", "Fact three."}


def test_what_was_given_up_does_not_come_back_by_its_journal(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    id = home.snapshot()
    home.remember("Fact two, which is given up.")
    home.piece()
    home.clock.now += 1_000
    home.call("snapshot_restore", id=id, yes=True)  # and the machine is lost before the new line is in the vault

    assert elsewhere(home, tmp_path).texts() == {"Fact one."}


def test_a_line_that_never_reached_the_vault_breaks_nothing(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    moment = home.piece()
    id = home.snapshot()
    home.clock.now += 1_000
    home.call("snapshot_restore", id=id, yes=True)
    home.remember("Fact two, which is in no vault.")
    assert home.cut()  # a line begins, and is given up before anything of it is sent
    home.journal.queue.remove(home.journal.queue.all())
    home.clock.now += 1_000
    home.call("snapshot_restore", at=iso(moment), yes=True)
    home.remember("Fact three.")
    home.piece()

    assert elsewhere(home, tmp_path).texts() == home.texts() == {"Fact one.", "Fact three."}


def test_a_journal_that_was_off_for_a_while_is_taken_up_again(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    home.changes.end()
    home.remember("Fact two.")
    home.snapshot()
    home.clock.now += 1_000
    home.remember("Fact three.")
    home.piece()

    assert elsewhere(home, tmp_path).texts() == {"Fact one.", "Fact two.", "Fact three."}


def test_a_snapshot_that_was_made_without_a_journal_is_newer_than_one(home: Journaled, tmp_path: Path) -> None:
    home.remember("Fact one.")
    home.piece()
    home.changes.end()
    home.remember("Fact two.")
    home.clock.now += 1_000
    home.snapshot()

    assert elsewhere(home, tmp_path).texts() == {"Fact one.", "Fact two."}


def test_an_encrypted_journal_needs_the_identity(tmp_path: Path) -> None:
    home = Journaled(tmp_path / "home", tmp_path / "vault", snapshot_recipients=recipient())
    home.remember("Fact one is secret.")
    moment = home.piece()

    for one in journal_objects(tmp_path / "vault"):
        assert b"secret" not in one.read_bytes()
    with pytest.raises(IdentityNeeded):
        home.call("snapshot_restore", at=iso(moment), yes=True)
    identity = identity_file(tmp_path)
    other = Journaled(
        tmp_path / "other", tmp_path / "vault", 500, snapshot_identity=identity, snapshot_recipients=recipient()
    )
    assert other.texts() == {"Fact one is secret."}


def test_tenants_have_journals_of_their_own(home: Journaled, tmp_path: Path) -> None:
    neighbour = Caller(tenant="acme", name="test")
    home.remember("Fact one of the default tenant.")
    home.piece()
    home.call("remember", neighbour, content="Fact one of acme.")
    theirs = JournalWriter(snapshot_context(home.context(neighbour)))
    assert home.changes.waiting() == ["acme"]
    theirs.cut(home.changes)
    theirs.send(home.vault, home.changes)
    line = home.line

    moment = home.clock.now
    home.call("remember", neighbour, content="Fact two of acme.")
    home.clock.now += 1_000
    theirs.cut(home.changes)
    theirs.send(home.vault, home.changes)
    home.call("snapshot_restore", neighbour, at=iso(moment), yes=True)

    found = home.call("memories", neighbour)["memories"]
    assert [one["content"] for one in found] == ["Fact one of acme."]
    assert home.texts() == {"Fact one of the default tenant."}
    assert home.line == line, "the other tenant's journal goes on"
    home.remember("Fact two of the default tenant.")
    home.piece()
    assert elsewhere(home, tmp_path).texts() == home.texts()


def test_tokens_and_kept_answers_stay_out_of_the_journal(home: Journaled, tmp_path: Path) -> None:
    home.piece()
    home.call("token_create", name="reader", scopes=["read"])
    home.piece()
    other = elsewhere(home, tmp_path)

    assert other.call("token_list")["tokens"] == []


def test_before_the_first_write_there_is_nothing_and_nothing_is_missing(home: Journaled) -> None:
    home.cut()
    empty = home.clock.now + 30_000
    home.clock.now += 60_000
    home.remember("Fact one.")
    home.piece()

    with pytest.raises(NotFound) as refused:
        home.call("snapshot_restore", at=iso(empty), yes=True)
    assert refused.value.hint.startswith("List its snapshots")


def test_what_came_later_is_no_other_history_of_a_moment(home: Journaled) -> None:
    home.remember("Fact one.")
    moment = home.piece()
    home.clock.now += 1_000
    home.call("snapshot_restore", at=iso(moment), yes=True)
    home.piece()
    home.call("snapshot_undo", yes=True)
    home.piece()

    assert not home.call("snapshot_restore", at=iso(moment), yes=True).get("warnings")


def test_a_memory_that_comes_from_the_journal_alone_is_no_other_than_that_of_the_vault(
    home: Journaled, tmp_path: Path
) -> None:
    home.remember("Fact one.")
    home.piece()
    home.snapshot()
    second = elsewhere(home, tmp_path, "second")
    second.clock.now = home.clock.now + 10_000
    second.remember("Fact two.")
    second.piece()

    third = elsewhere(home, tmp_path, "third")

    assert third.texts() == {"Fact one.", "Fact two."}
    assert third.engine.trouble("default") is None
    assert "vault: the journal up to" in third.call("memories")["notice"]


def test_a_vault_is_verified_with_its_journal(home: Journaled, tmp_path: Path) -> None:
    for number in range(3):
        home.remember(f"Fact {number}.")
        home.piece()
    id = home.snapshot()
    home.clock.now += 1
    home.compaction().expire(home.line, home.clock.now, home.clock.now)  # a line need not begin with its first piece
    for number in (3, 4):
        home.remember(f"Fact {number}.")
        home.piece()
    (line,) = home.call("vault_verify")["journal"]
    assert (line["line"], line["sound"], line["upto"]) == (home.line, True, iso(home.clock.now))

    flip_bit(journal_objects(tmp_path / "vault")[-1])
    found = home.call("vault_verify")
    (line,) = found["journal"]
    assert (found["sound"], found["exitCode"], line["sound"]) == (False, SnapshotDamaged.exit_code, False)
    assert line["message"]
    assert "holdfast snapshot create" in found["hint"]
    assert "journal" not in home.call("vault_verify", id=id)
