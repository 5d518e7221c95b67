"""Keys are copied, recovered and followed, and what would be missed is told before it is."""

from __future__ import annotations

import io
import shutil
import stat
from pathlib import Path

import pytest
from flows import NEW, OLD, STRANGER, Cli, identity_file, recipient
from hypothesis import given, strategies as st
from rows import each

from holdfast.core.errors import Conflict, InvalidRequest
from holdfast.snapshot.keys.keyring import Keyring, Succession, read_succession
from holdfast.snapshot.keys.mnemonic import seed_of, words_of

ZEROS = "abandon " * 23 + "art"
ONES = "zoo " * 23 + "vote"
WINNER = (
    "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful "
    "legal winner thank year wave sausage worth title"
)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    made = Cli(tmp_path / "memory")
    made.remember(OLD)
    return made


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


@each("seed, words", [(bytes(32), ZEROS), (b"\xff" * 32, ONES), (b"\x7f" * 32, WINNER)])
def test_words_are_those_of_the_standard(seed: bytes, words: str) -> None:
    assert words_of(seed) == words
    assert seed_of(words) == seed


@given(st.binary(min_size=32, max_size=32))
def test_words_stand_for_the_same_bytes_again(seed: bytes) -> None:
    words = words_of(seed)

    assert seed_of(words) == seed
    assert seed_of(" ".join(word[:4].upper() for word in words.split())) == seed


def test_two_words_that_changed_places_are_noticed_and_none_is_shown() -> None:
    words = WINNER.split()
    changed = [words[1], words[0], *words[2:]]
    with pytest.raises(InvalidRequest) as caught:
        seed_of(" ".join(changed))
    assert not set(words) & set(caught.value.message.split())


@each("words", ["", "abandon " * 24, "abandon " * 23, "abandon " * 23 + "xyzzy", "ab " * 24])
def test_what_is_no_key_is_refused(words: str) -> None:
    with pytest.raises(InvalidRequest):
        seed_of(words)


def test_a_key_is_recovered_from_its_words_elsewhere(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    did = cli.good("key", "new")["did"]
    words = cli.good("key", "words")["words"]
    other = Cli(tmp_path / "other")
    typed(monkeypatch, f"  {words.upper()}\n")

    assert other.good("key", "recover")["did"] == did
    assert other.good("key", "show")["did"] == did
    seed_file = other.home / "keys" / "own.json"
    assert stat.S_IMODE(seed_file.stat().st_mode) == 0o600


def test_another_key_is_not_replaced_by_a_recovered_one_unasked(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = cli.good("key", "new")["did"]
    typed(monkeypatch, ZEROS)
    assert cli("key", "recover").code == 5
    typed(monkeypatch, ZEROS)
    cli.good("key", "recover", "--replace")

    assert own in [one["did"] for one in cli.good("key", "show")["trusted"]]


def test_a_key_is_recovered_from_an_encrypted_backup(cli: Cli, tmp_path: Path) -> None:
    did = cli.good("key", "new")["did"]
    file = tmp_path / "key.age"
    assert cli("key", "backup", str(file)).code == 2  # for nobody
    cli.good("key", "backup", str(file), "--encrypt", recipient())
    assert cli("key", "backup", str(file), "--encrypt", recipient()).code == 5  # nothing is overwritten
    other = Cli(tmp_path / "other")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert other("key", "recover", "--from", str(file)).code == 2
    stranger = identity_file(tmp_path, STRANGER)
    assert other("key", "recover", "--from", str(file), "--identity", stranger).code == 2
    words = ("key", "recover", "--from", str(file), "--identity", identity_file(tmp_path))
    assert other.good(*words)["did"] == did


def test_what_the_old_key_signed_stays_trusted_after_a_rotation(cli: Cli) -> None:
    old = cli.good("key", "new")["did"]
    before = cli.create()
    done = cli.good("key", "rotate")
    after = cli.create()

    assert (done["old"], done["did"]) == (old, cli.good("key", "show")["did"])
    assert done["did"] != old
    for id in (before, after):
        assert cli.good("snapshot", "verify", id)["sound"]
    assert cli.good("snapshot", "show", after)["snapshot"]["signer"] == done["did"]


def test_others_take_the_new_key_by_what_the_old_one_said(cli: Cli, tmp_path: Path) -> None:
    old = cli.good("key", "new")["did"]
    other = Cli(tmp_path / "other")
    other.good("key", "trust", old)
    said = cli.good("key", "rotate")["succession"]
    id = cli.create()
    path = str(cli.repo / f"{id}.manifest.json")

    assert other("snapshot", "verify", path).code == 41
    assert other.good("key", "follow", said)["did"] == cli.good("key", "show")["did"]
    assert other.good("snapshot", "verify", path)["sound"]


def test_a_statement_of_nobody_trusted_or_of_nobody_at_all_is_refused(cli: Cli, tmp_path: Path) -> None:
    cli.good("key", "new")
    said = cli.good("key", "rotate")["succession"]
    other = Cli(tmp_path / "other")

    assert other("key", "follow", said).code == 5
    assert other("key", "follow", "{}").code == 2
    old, new = Keyring(tmp_path / "a"), Keyring(tmp_path / "b")
    forged = Succession(old.new(), new.new(), "2026-09-21T13:33:20Z", read_succession(said).signature)
    with pytest.raises(InvalidRequest):
        old.follow(forged)


def test_rotating_needs_a_key(cli: Cli) -> None:
    assert cli("key", "rotate").code == 4


def test_the_statement_is_kept_before_the_new_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the process ends in between, the old key is the own one as before."""
    keyring = Keyring(tmp_path)
    old = keyring.new()

    def ends_here(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Keyring, "_put_own", ends_here)
        with pytest.raises(KeyboardInterrupt):
            keyring.rotate("2026-09-21T13:33:20Z")
    assert keyring.own() == old
    with pytest.raises(Conflict):
        keyring.new()


def test_doctor_does_not_call_keys_copied_where_there_are_none(cli: Cli) -> None:
    cli.remember("x")
    assert _doctor(cli)["found"].startswith("none")
    cli.good("key", "new")
    cli.good("key", "words")
    assert _doctor(cli)["found"] == "copied and verified"


def test_a_statement_is_printed_as_one_line_that_can_be_copied(cli: Cli, tmp_path: Path) -> None:
    cli.good("key", "new")
    other = Cli(tmp_path / "other")
    other.good("key", "trust", cli.good("key", "show")["did"])
    said = cli.plain("key", "rotate").out.splitlines()
    printed = dict(line.split(": ", 1) for line in said[: said.index("warnings:")])

    assert other.good("key", "follow", printed["succession"])["did"] == printed["did"]


def test_warnings_stand_on_lines_of_their_own(cli: Cli) -> None:
    cli.good("key", "new")
    said = cli.plain("snapshot", "create", "--encrypt", recipient()).out.splitlines()
    begin = said.index("warnings:")
    assert [line.endswith(".") for line in said[begin + 1 : begin + 3]] == [True, True]


def test_a_key_without_a_copy_is_told_until_there_is_one(cli: Cli) -> None:
    cli.good("key", "new")
    assert "key words" in cli.good("snapshot", "create")["warnings"][0]
    assert cli.good("health")["warnings"]
    assert not _doctor(cli)["ok"]
    cli.good("key", "words")

    assert "warnings" not in cli.good("snapshot", "create")
    assert "warnings" not in cli.good("health")
    assert _doctor(cli)["ok"]


def test_an_identity_that_was_never_seen_is_told_until_it_opened_something(cli: Cli, tmp_path: Path) -> None:
    made = cli.good("snapshot", "create", "--encrypt", recipient())
    assert "not on this machine" in made["warnings"][0]
    assert not _doctor(cli)["ok"]
    cli.good("snapshot", "verify", made["id"])  # without the identity its members stay unchecked
    assert cli.good("key", "show")["warnings"]
    cli.good("snapshot", "verify", made["id"], "--identity", identity_file(tmp_path))

    assert cli.good("key", "show")["warnings"] == []
    assert _doctor(cli)["ok"]


@pytest.mark.parametrize(
    ("which", "told"), [("right", "never tested"), ("wrong", "for other recipients"), ("missing", "cannot be read")]
)
def test_an_identity_that_does_not_fit_is_told(cli: Cli, tmp_path: Path, which: str, told: str) -> None:
    files = {
        "right": identity_file(tmp_path),
        "wrong": identity_file(tmp_path, STRANGER),
        "missing": str(tmp_path / "nowhere"),
    }
    cli.environment["HOLDFAST_SNAPSHOT_RECIPIENTS"] = recipient()
    cli.environment["HOLDFAST_SNAPSHOT_IDENTITY"] = files[which]

    assert told in cli.good("key", "show")["warnings"][0]


def test_a_new_key_in_place_of_a_lost_one_names_the_signer_of_earlier_snapshots(cli: Cli) -> None:
    first = cli.create("--sign")
    lost = cli.good("key", "show")["did"]
    shutil.rmtree(cli.home / "keys")

    made, missing, *_ = cli.good("snapshot", "create", "--sign")["warnings"]

    assert made.startswith("A signing key was created")
    assert missing.endswith(f"holdfast key trust {lost}")
    assert cli("snapshot", "restore", first, "--yes").code != 0
    cli.good("key", "trust", lost)
    cli.good("snapshot", "restore", first, "--yes")


def test_a_recipient_that_is_none_stops_the_start_before_anything_is_stored(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home", HOLDFAST_SNAPSHOT_RECIPIENTS="age1nonsense")
    said = cli("remember", "The till is red")
    assert (said.code, said.fault["code"]) == (3, "invalid_settings")
    assert said.fault["error"].startswith("HOLDFAST_SNAPSHOT_RECIPIENTS: recipient 1 is neither")
    assert "nonsense" not in said.err
    assert not (tmp_path / "home").exists()


def test_a_restore_tests_the_identity_too(cli: Cli, tmp_path: Path) -> None:
    cli.environment["HOLDFAST_SNAPSHOT_IDENTITY"] = identity_file(tmp_path)
    id = cli.create("--encrypt", recipient())
    cli.remember(NEW)
    assert cli.good("key", "show")["warnings"]
    cli.good("snapshot", "restore", id, "--yes")

    assert cli.good("key", "show")["warnings"] == []


def _doctor(cli: Cli) -> dict[str, object]:
    checks = cli("doctor").answer["checks"]
    found: dict[str, object] = next(one for one in checks if one["name"] == "keys")
    return found
