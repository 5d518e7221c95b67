"""The command line. Commands come from the operations; a few are written by hand.

Heavy imports happen inside the commands: `holdfast hook` runs on every step of an agent and must start fast.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from holdfast.core.errors import Fault, InvalidRequest

if TYPE_CHECKING:
    from holdfast.cli.command_table import Row

INTERRUPTED = 130
DAMAGED = 23
NEAR = 0.6  # the likeness of two words, as difflib measures it, from which one may be a slip for the other
MOST_MEANT = 3  # commands that a wrong one may have meant


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """A wrong word is a fault like any other: same shape, exit code 2."""
        raise InvalidRequest(f"{self.prog}: {message}", hint=f"See {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is the fault's own, 0 when all went well."""
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in words
    try:
        if words[:1] == ["hook"]:
            return _hook(words[1:])
        _note_folder(words)
        if words[:1] == ["--version"]:
            return _version()
        if words[:1] in (["--help"], ["-h"]):
            return _help()
        _check_known(words)
        parser = _parser(words)
        given, unknown = parser.parse_known_args(words)
        if unknown:  # refused here, so that the command's own help is named
            _refuse_words(given.parser.prog, unknown)
        return int(given.run(given))
    except Fault as fault:
        from holdfast.cli.output.render import print_fault

        print_fault(fault, as_json)
        return fault.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away: no one reads an error
        return 0
    except Exception as error:  # noqa: BLE001 - the CLI edge: a person gets a sentence, not a traceback
        from holdfast.cli.output.render import print_fault

        print_fault(Fault(f"unexpected {type(error).__name__}", hint="This is a bug; please report it."), as_json)
        return 1


def _note_folder(words: Sequence[str]) -> None:
    """Let hints name the data folder that this command names."""
    from holdfast.cli.output.folder_hints import note_folder

    note_folder(words)


def _refuse_words(command: str, words: Sequence[str]) -> NoReturn:
    quotes = "" if any(word.startswith("-") for word in words) else "Put a text of several words in quotes. "
    raise InvalidRequest(f"{command}: unrecognized arguments: {' '.join(words)}", hint=f"{quotes}See {command} --help.")


def _version() -> int:
    from holdfast.core.version import VERSION

    sys.stdout.write(f"holdfast {VERSION}\n")
    return 0


def _help() -> int:
    from holdfast.cli.help_page import help_page

    sys.stdout.write(help_page(all_commands()))
    return 0


def all_commands() -> list[tuple[str, str]]:
    """Words and summary of every command."""
    from holdfast.cli import command_table
    from holdfast.cli.commands import parsers

    return [*command_table.listing(), *((one.words, one.summary) for one in parsers.COMMANDS)]


def _hook(words: Sequence[str]) -> int:
    """Runs inside an agent: whatever is wrong here, the agent's work goes on."""
    from holdfast.cli.hook.hook_command import hook_main

    return hook_main(words)


def _parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser for these words: of one command if they name one, else of all.

    A parser for each of a hundred commands would take longer to make than most commands run.
    """
    from holdfast.cli import command_table
    from holdfast.cli.commands import parsers

    parser = _Parser(prog="holdfast", description="Memory for AI agents that is never lost.")
    groups = _Groups(parser)
    known = {command.words: command for command in parsers.COMMANDS}
    named = next((two for two in (" ".join(words[:2]), *words[:1]) if two in known or command_table.command(two)), None)
    if named is None:
        every = all_commands()
        firsts = {name.split()[0] for name, _ in every if " " in name}
        for name, summary in every:
            if name not in firsts:  # the group of that name stands for it
                _add(groups, name, summary, known)
    else:
        row = command_table.command(named)
        _add(groups, named, row.summary if row else known[named].summary, known)
    return parser


def _check_known(words: Sequence[str]) -> None:
    """Refuse a command that there is not, with the nearest ones: a list of all of them answers nothing.

    Raises:
        InvalidRequest: there is no such command, or an option stands in its place.
    """
    from holdfast.cli.options import COMMON_OPTIONS

    if words and words[0] in COMMON_OPTIONS:
        raise InvalidRequest(
            f"holdfast: {words[0]} stands before the command", hint=f"Put it after: holdfast COMMAND {words[0]}"
        )
    if not words or words[0].startswith("-"):
        return
    names = [name for name, _ in all_commands()]
    seconds = [name.split()[1] for name in names if name.startswith(f"{words[0]} ")]
    named = [word for word in words[:2] if not word.startswith("-")]
    if words[0] in names or (seconds and (len(named) < 2 or named[1] in seconds)):
        return
    from difflib import get_close_matches

    typed = " ".join(named if seconds else named[:1])[:40]
    near = get_close_matches(typed, {*names, *(name.split()[0] for name in names)}, n=MOST_MEANT, cutoff=NEAR)
    near = near or [f"{words[0]} {second}" for second in seconds]
    near = [name for name in names if name.endswith(f" {typed}")][:MOST_MEANT] or near
    meant = f"Did you mean {' or '.join(f'holdfast {one}' for one in near)}? " if near else ""
    raise InvalidRequest(f"holdfast: unknown command {typed!r}", hint=f"{meant}All commands: holdfast --help")


def _add(groups: _Groups, words: str, summary: str, known: Mapping[str, Any]) -> None:
    from holdfast.cli import command_table
    from holdfast.cli.confirm import add_yes
    from holdfast.cli.folder_project import SHOWS, add_everywhere
    from holdfast.cli.options import add_arguments, add_common

    command = groups.add(words, summary)
    command.set_defaults(parser=command)
    if words in known:
        known[words].add(command)
        add_common(command)
        command.set_defaults(run=known[words].run)
        return
    row = command_table.command(words)
    assert row is not None
    add_arguments(command, row, optional=("project",) if row.name in SHOWS else ())
    add_everywhere(command, row)
    add_common(command)
    if row.asks:
        add_yes(command)
    command.set_defaults(run=_operation, operation=row)


class _Groups:
    """Commands of one or two words."""

    def __init__(self, parser: argparse.ArgumentParser):
        self._top = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
        self._second: dict[str, Any] = {}

    def add(self, words: str, summary: str) -> argparse.ArgumentParser:
        first, _, second = words.partition(" ")
        help_text = summary.replace("%", "%%")
        if not second:
            return self._top.add_parser(first, help=help_text, description=help_text)
        if first not in self._second:
            from holdfast.cli.help_page import GROUPS

            group = self._top.add_parser(first, help=GROUPS[first], description=GROUPS[first])
            self._second[first] = group.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
        parser: argparse.ArgumentParser = self._second[first].add_parser(second, help=help_text, description=help_text)
        return parser


def _operation(given: argparse.Namespace) -> int:
    from holdfast.cli.confirm import confirmed_call
    from holdfast.cli.folder_project import placed, without_own_project
    from holdfast.cli.memory_location import connection_of, empty_notice
    from holdfast.cli.options import arguments_of
    from holdfast.cli.output.render import print_json, print_notice, working
    from holdfast.cli.remote_hints import whose_settings
    from holdfast.settings import environment

    row: Row = given.operation
    arguments = placed(row, arguments_of(row, given), getattr(given, "everywhere", False), environment())
    if not given.json:
        arguments = {**row.brief, **arguments}
    with connection_of(given) as connection, whose_settings(connection):
        if row.steps and "limit" not in arguments:
            from holdfast.cli.step_runner import in_steps

            answer = in_steps(connection, row, arguments)
        elif row.asks:
            answer = confirmed_call(connection, row, arguments, given)
        else:
            with working(row.summary):
                answer = connection.call(row, arguments)
        place = connection.place
        nothing = row.name == "search" and not given.json and not answer["results"]
        notice = empty_notice(given, connection) if nothing else None
    if given.json or row.name == "export":
        print_json(answer)
    else:
        if answer.get("format") == "passages":
            answer = without_own_project(answer, environment())
        _print(row, answer, place, narrowed=arguments != dict(row.brief))
    if notice:
        print_notice(notice)
    return _exit_code(answer)


def _print(row: Row, answer: Any, place: str, *, narrowed: bool) -> None:
    """The answer for a person: a list as one line a row, the overview as a page, the rest as it comes."""
    from holdfast.cli.output.lists import PAGE_OF, print_listing
    from holdfast.cli.output.render import print_answer, print_lines, print_notice

    if row.name not in PAGE_OF and row.name != "overview":
        print_answer(answer, row.name)
        return
    if row.name == "overview":
        from holdfast.cli.commands.dashboard import print_dashboard

        print_dashboard(answer, place)
    elif "text" in answer:
        print_lines(str(answer["text"]).splitlines())
    else:
        # A memory in trouble may hold more than it can list, and takes nothing new.
        print_listing(PAGE_OF[row.name], answer, narrowed=narrowed or bool(answer.get("notice")))
    if answer.get("notice"):
        print_notice(str(answer["notice"]))


def _exit_code(answer: Any) -> int:
    """0, unless the answer is a verification that failed, or says itself that it is an error or a refusal."""
    if isinstance(answer, dict) and answer.get("is_error"):
        return InvalidRequest.exit_code
    if not isinstance(answer, dict) or (answer.get("sound", True) and answer.get("success", True)):
        return 0
    return int(answer.get("exitCode", 0 if answer.get("sound", True) else DAMAGED))


if __name__ == "__main__":
    sys.exit(main())
