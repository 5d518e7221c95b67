"""What an edit means for a statement: whether it removed the value that the statement names.

Edits are the surest evidence that a fact changed, as they need no words to be chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from holdfast.learn.statements.stems import COMMON, stems, tokens
from holdfast.learn.statements.values import KEPT_TEXTS, values

SHORTEST_NAME = 6
SHORTEST_QUOTE = 10
FEW_PIECES = 6
NEAR_FOLDERS = 2  # a file's name and folder identify the thing; those above are the user's and the project's
SHORTEST_CHAIN = 5  # characters of an edit that are enough to be the same place


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a file, as the tool made it."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with what stood around it: the user's prompt and the edits of that turn."""

    text: str
    prompt: str = ""
    edits: tuple[Edit, ...] = ()


_PATH_WORDS = frozenset(
    "src lib app test tests config conf deploy main values index settings json yaml yml toml notes docs md txt".split()
)
PLACES = frozenset(
    "staging stage prod production preview dev development test testing ci local sandbox qa canary live demo".split()
)


@dataclass(frozen=True, slots=True)
class EditSigns:
    old_named: bool = False  # the older statement names what the edit took away
    new_named: bool = False  # the newer one names what it put there
    same_file: bool = False  # the older statement's turn changed the same file, or the statement names it
    chained: bool = False  # what was taken away is what the older statement's turn had put there
    distinct: bool = False  # what was taken away has a name that nothing else has, and the older statement names it
    elsewhere: bool = False  # the file's own name is in the newer statement, and not in the older
    other_key: bool = False  # the older statement's turn changed another key of the same file
    foreign_key: bool = False  # the key's words are in the newer statement, and not in the older
    own_key: bool = False  # the key's words are in the older statement
    quoted: bool = False  # the older statement holds all that was taken away, the newer one all that was put there

    @property
    def of_another_thing(self) -> bool:
        return self.elsewhere or self.is_other_key or (self.foreign_key and not self.own_key)

    @property
    def is_other_key(self) -> bool:
        """Whether it changed another key than the older turn, and nothing shows that the older statement names it."""
        return self.other_key and not self.chained and not (self.own_key and self.old_named)


def edit_signs(old: Claim, new: Claim) -> EditSigns:
    found = [_one_edit(old, new, edit) for edit in new.edits]
    return max(
        found,
        key=lambda one: (one.chained, one.quoted, one.distinct, one.old_named + one.new_named, one.same_file),
        default=EditSigns(),
    )


def _one_edit(old: Claim, new: Claim, edit: Edit) -> EditSigns:
    before, after = _pieces(edit.old), _pieces(edit.new)
    taken, put = _telling(before - after), _telling(after - before)
    names = stems(" ".join(tokens(re.sub(r"[/._-]", " ", _near_path(edit))) - _PATH_WORDS))
    same_file = any(edit.file == other.file for other in old.edits) or _base(edit.file) in old.text
    keys = [(_keys(edit), _keys(other)) for other in old.edits if edit.file == other.file]
    key, said, told = _keys(edit), stems(old.text), stems(f"{new.text} {new.prompt}")
    return EditSigns(
        _names_any(old.text, taken),
        _names_any(new.text, put),
        same_file,
        any(edit.file == other.file and _goes_on(edit, other) for other in old.edits),
        any(_is_distinct(piece) for piece in taken) and _names_any(old.text, frozenset(filter(_is_distinct, taken))),
        bool(names & stems(_without_file(new.text, edit))) and not names & said,
        bool(keys) and all(one - other and other - one for one, other in keys),
        bool((key & told) - said),
        bool(key & said),
        _is_quoted(edit.old, old.text) and _is_quoted(edit.new, new.text),
    )


def _without_file(text: str, edit: Edit) -> str:
    """A text without the edited file's name, which tells of no other thing unless it is that of one environment."""
    near = _near_path(edit)
    return text.replace(edit.file, "") if tokens(re.sub(r"[/._-]", " ", near)) & PLACES else text.replace(near, "")


def _telling(pieces: frozenset[str]) -> frozenset[str]:
    """The pieces that show what was changed: of much text only numbers and names, as plain words stand anywhere."""
    if len(pieces) <= FEW_PIECES:
        return pieces
    return frozenset(piece for piece in pieces if piece[0].isdigit() or _is_distinct(piece))


def _is_quoted(side: str, text: str) -> bool:
    """Whether a text holds one side of an edit word by word: a command, a sentence, a setting."""
    flat = " ".join(side.split()).lower()
    return len(flat) >= SHORTEST_QUOTE and flat in " ".join(text.split()).lower()


def _keys(edit: Edit) -> frozenset[str]:
    """The words of the names that stand on both sides of an edit: of the key whose value it changed."""
    both = " ".join(_names(edit.old) & _names(edit.new))
    return stems(re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", both))


def _names(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z_][\w-]+", text))


def _is_distinct(piece: str) -> bool:
    """Whether a piece is a name of its own: meadow-invoices, eu-west-1, 192.168.1.20; not 14 or timeout."""
    return len(piece) >= SHORTEST_NAME and re.search(r"[-_.\d]", piece) is not None


def _goes_on(edit: Edit, before: Edit) -> bool:
    """Whether an edit takes away what an earlier one put there."""
    taken = " ".join(edit.old.split())
    return len(taken) >= SHORTEST_CHAIN and taken in " ".join(before.new.split()) and taken not in before.old


def _base(file: str) -> str:
    return file.rpartition("/")[2]


def _pieces(text: str) -> frozenset[str]:
    """Words, numbers and whole names of an edit's side."""
    plain = re.sub(r"(?<=\d)_(?=\d)", "", text)
    names = re.findall(r"[A-Za-z][\w-]*[-_][\w-]*\w", plain)
    parts = re.findall(r"[A-Za-z]{3,}|\d+(?:\.\d+)*", plain)
    return frozenset(part for part in (*parts, *names) if part.lower() not in COMMON)


# A setting on a line of its own: a key, perhaps with its type, and a literal after it.
_SETTING = re.compile(
    r"""^[^=:(){}"']{0,40}?["']?(?P<key>[\w.$-]*\w)["']?(?::\s*\w+\s*=|\s*[=:])\s*
    (?P<value>["'`]?[^\s"'`(){}\[\]=<>]+(?:\ [^\s"'`(){}\[\]=<>]+){0,7}["'`]?)$""",
    re.VERBOSE,
)
LONGEST_SETTING = 100


def setting_text(edit: Edit) -> str:
    """The line that an edit left, and its file, if it gave one setting another value; nothing otherwise."""
    before, after = (" ".join(side.split()).rstrip(",; ") for side in (edit.old, edit.new))
    if "\n" in f"{edit.old.strip()}{edit.new.strip()}" or len(before) + len(after) > 2 * LONGEST_SETTING:
        return ""
    was, now = _SETTING.match(before), _SETTING.match(after)
    if was is None or now is None or was["key"] != now["key"] or was["value"] == now["value"]:
        return ""
    return f"{after} in {_near_path(edit)}" if values(was["value"]) and values(now["value"]) else ""


def _near_path(edit: Edit) -> str:
    return "/".join(edit.file.rsplit("/", NEAR_FOLDERS)[-NEAR_FOLDERS:])


def names_what_was_taken(text: str, edits: Sequence[Edit]) -> bool:
    """Whether a text names something that an edit took away."""
    return any(_names_any(text, _telling(_pieces(edit.old) - _pieces(edit.new))) for edit in edits)


def names_what_was_put(text: str, edits: Sequence[Edit]) -> bool:
    """Whether a sentence names a value that an edit put in the place of another."""
    return any(edit.old and _names_any(text, _values_of(edit.new) - _values_of(edit.old)) for edit in edits if edit.new)


def _values_of(text: str) -> frozenset[str]:
    return frozenset(piece for piece in _pieces(text) if piece[0].isdigit() or _is_distinct(piece))


def _names_any(text: str, pieces: frozenset[str]) -> bool:
    """Whether the text names one of the pieces. 60 is named by 60_000, a limit in another unit, and 14.11 by 14."""
    numbers = {_digits(piece) for piece in pieces if piece[0].isdigit()} | {
        piece for piece in pieces if piece[0].isdigit()
    }
    if _stated_numbers(text) & numbers:
        return True
    return any(piece.lower() in tokens(text) for piece in pieces if piece[0].isalpha())


@lru_cache(maxsize=KEPT_TEXTS)
def _stated_numbers(text: str) -> frozenset[str]:
    stated = values(text)
    found = [value.core for value in stated if value.is_number or value.kind in ("clock", "address")]
    days = [part for value in stated if value.kind == "date" for part in re.findall(r"\d+", value.core)]
    whole = [core.partition(".")[0] for core in found if "." in core]
    return frozenset({*map(_digits, (*found, *days)), *whole}) - {""}


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text).rstrip("0") or re.sub(r"\D", "", text)
