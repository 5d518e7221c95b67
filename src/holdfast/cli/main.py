"""The command line. Commands come from the operations; a few are written by hand.

Heavy imports happen inside the commands: `holdfast hook` runs on every step of an agent and must start fast.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from holdfast.errors import Fault, InvalidRequest

INTERRUPTED = 130
DAMAGED = 23


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
        given = _parser().parse_args(words)
        return int(given.run(given))
    except Fault as fault:
        from holdfast.cli.show import print_fault

        print_fault(fault, as_json)
        return fault.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away: nobody is left to tell
        return 0
    except Exception as error:  # noqa: BLE001 - the CLI edge: a person gets a sentence, not a traceback
        from holdfast.cli.show import print_fault

        print_fault(Fault(f"unexpected {type(error).__name__}", hint="This is a bug; please report it."), as_json)
        return 1


def _hook(words: Sequence[str]) -> int:
    """Runs inside an agent: whatever is wrong here, the agent's work goes on."""
    from holdfast.cli.hook import hook_main
    from holdfast.cli.reach import reach, settings_of

    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("event", nargs="?", default="")
    parser.add_argument("--data")
    parser.add_argument("--url")
    given, _ = parser.parse_known_args(words)
    try:
        url, credential = reach(given)
        folder = str(settings_of(given).folder)
    except Fault:
        return 0
    return hook_main(given.event, url, credential, folder)


def _parser() -> argparse.ArgumentParser:
    from holdfast.cli.asking import add_yes
    from holdfast.cli.options import add_arguments, add_common
    from holdfast.ops.registry import OPERATIONS
    from holdfast.version import VERSION

    parser = _Parser(prog="holdfast", description="Memory for AI agents that is never lost.")
    parser.add_argument("--version", action="version", version=f"holdfast {VERSION}")
    groups = _Groups(parser)
    for operation in OPERATIONS:
        if operation.cli:
            command = groups.add(operation.cli, operation.summary)
            add_arguments(command, operation)
            add_common(command)
            if operation.asks:
                add_yes(command)
            command.set_defaults(run=_operation, operation=operation)
    _add_by_hand(groups)
    return parser


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
            group = self._top.add_parser(first, help=f"{first} commands")
            self._second[first] = group.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
        parser: argparse.ArgumentParser = self._second[first].add_parser(second, help=help_text, description=help_text)
        return parser


def _add_by_hand(groups: _Groups) -> None:
    from holdfast.cli import by_hand
    from holdfast.cli.options import add_common

    for command in by_hand.COMMANDS:
        parser = groups.add(command.words, command.summary)
        command.add(parser)
        add_common(parser)
        parser.set_defaults(run=command.run)


def _operation(given: argparse.Namespace) -> int:
    from holdfast.cli.asking import asked
    from holdfast.cli.elsewhere import whose_settings
    from holdfast.cli.options import arguments_of
    from holdfast.cli.reach import settings_of
    from holdfast.cli.show import print_answer, print_json, working
    from holdfast.cli.steps import in_steps
    from holdfast.door import OpenDoor

    arguments = arguments_of(given.operation, given)
    with OpenDoor(settings_of(given)) as door, whose_settings(door):
        if given.operation.steps and "limit" not in arguments:
            answer = in_steps(door, given.operation, arguments)
        elif given.operation.asks:
            answer = asked(door, given.operation, arguments, given)
        else:
            with working(given.operation.summary):
                answer = door.call(given.operation, arguments)
    (print_json if given.json or given.operation.name == "export" else print_answer)(answer)
    return _exit_code(answer)


def _exit_code(answer: Any) -> int:
    """0, unless the answer is a verification that says otherwise."""
    if not isinstance(answer, dict) or answer.get("sound", True):
        return 0
    return int(answer.get("exitCode", DAMAGED))


if __name__ == "__main__":
    sys.exit(main())
