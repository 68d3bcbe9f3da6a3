"""`raiselens`: commands loaded when they are called, and one guard around all of them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from raiselens_server import __version__
from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.lazy import lazy_group
from raiselens_server.cli.output import OutputError, guard_streams
from raiselens_server.cli.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

DEBUG = "RAISELENS_DEBUG"
INTERRUPTED = 130

raiselens = lazy_group(
    "raiselens",
    "raiselens_server.cli",
    {
        "check": "foresee the errors of Python files, and repair them",
        "explain": "explain the errors of a log, a terminal's output or a message",
        "verify": "run a finding before and after its repair",
        "catalog": "look up, search, import and build error records",
        "server": "speak the language server protocol",
    },
    "See the `raise` before it happens, and explain it after.",
)
click.version_option(__version__, "-V", "--version", message="raiselens %(version)s")(raiselens)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script: run one command and exit with its code."""
    guard_streams()
    code = run(sys.argv[1:] if arguments is None else list(arguments))
    try:
        sys.stdout.flush()
    except OutputError as error:
        code = _unwritten(error)
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command and give its exit code: every failure is one line on stderr, never a traceback of ours."""
    try:
        with raiselens.make_context("raiselens", arguments) as context:
            code = raiselens.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.UsageError as error:
        name = error.ctx.command_path if error.ctx is not None else "raiselens"
        return _refuse(f"{name}: {error.format_message()} (see {name} --help)")
    except click.ClickException as error:
        return _refuse(f"raiselens: {error.format_message()}")
    except CommandError as error:
        return _refuse(f"raiselens: {error}")
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OutputError as error:
        return _unwritten(error)
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        text = (str(error).splitlines() or [""])[0]
        return _refuse(f"raiselens: internal error: {type(error).__name__}: {text} (set {DEBUG}=1 for the traceback)")


def _refuse(text: str) -> int:
    tell(text.replace("\n", " "))
    return 2


def _unwritten(error: OutputError) -> int:
    return _refuse(f"raiselens: standard output cannot be written: {error}")


if __name__ == "__main__":
    main()
