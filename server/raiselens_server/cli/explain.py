"""`raiselens explain`: the errors of a log, a terminal's output or one message."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from raiselens_server.cli.failure import CommandError
from raiselens_server.cli.options import (
    GivenPath,
    Where,
    environment_for,
    interpreter_for,
    open_catalog,
    print_json,
    refuse_empty,
    settings_for,
    where_options,
)
from raiselens_server.cli.output import is_unread
from raiselens_server.cli.terminal import emit, emit_page
from raiselens_server.source.presence import is_folder

if TYPE_CHECKING:
    from codecs import IncrementalDecoder
    from collections.abc import Iterator

    from raiselens_server.diagnose import Explained, Explainer
    from raiselens_server.error import RaisedError
    from raiselens_server.present.observed import Surroundings

BLOCK = 1 << 20


@click.command(name="explain")
@click.argument("file", required=False, metavar="FILE|-")
@click.option("--message", metavar="TEXT", help="Explain this text instead of a file.")
@click.option("--class", "class_name", metavar="NAME", help="With --message: TEXT is the whole message of this class.")
@click.option("--format", "form", type=click.Choice(("text", "json", "markdown")), default="text")
@click.option("--follow", is_flag=True, help="Keep reading, and explain each error when it is complete.")
@where_options
@click.option("--root", type=GivenPath(), metavar="DIR", help="Where the files of frames lie.")
@click.option("--map", "maps", multiple=True, metavar="FROM=TO", help="Look for paths of the log that begin so, here.")
def command(
    file: str | None,
    message: str | None,
    class_name: str | None,
    form: str,
    follow: bool,
    python: str | None,
    extra_path: tuple[Path, ...],
    catalog: tuple[Path, ...],
    root: Path | None,
    maps: tuple[str, ...],
) -> int:
    """Find the errors in FILE (or standard input), and explain them: `some_command 2>&1 | raiselens explain`.

    Exit code 1 where an error is listed, 0 where there is none or only warnings.
    """
    from raiselens_server.diagnose import Explainer
    from raiselens_server.read import read_chunks, read_message

    if class_name is not None and message is None:
        raise click.UsageError("--class says how to read --message, which is missing")
    if message is not None and file is not None:
        raise click.UsageError("give a FILE or --message, not both")
    start = root or Path.cwd()
    if not is_folder(start):
        raise CommandError(f"explain: --root {start}: no such folder")
    settings = settings_for(start, {"path-map": _maps(maps)})
    where = Where(python, extra_path, catalog)
    environment = environment_for([start], interpreter_for(start, settings, where), settings, where)
    opened = open_catalog(settings, catalog)
    explainer = Explainer(opened, environment, start, settings.path_map)
    if follow:
        return _follow(explainer, file, form)
    if message is not None:
        reading = read_message(message, class_name)
    else:
        with _opened(file) as stream:
            reading = read_chunks(_text(stream))
    explained = explainer.explain(reading)
    _print(explainer, explained, form)
    return 1 if explained.primary is not None else 0


def _maps(maps: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in maps:
        there, equals, here = pair.partition("=")
        if not equals or not there:
            raise click.UsageError(f"--map {pair}: must be FROM=TO")
        found[there] = str(Path(here).absolute()) if here else ""
    return found


def _opened(file: str | None) -> BinaryIO:
    if file is None and sys.stdin.isatty():
        raise click.UsageError("give a FILE, --message TEXT, or pipe a log in")
    if file is None or file == "-":
        return sys.stdin.buffer
    refuse_empty((file,))
    try:
        return Path(file).open("rb")
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise CommandError(f"explain: {file}: {reason}") from error


def _text(stream: BinaryIO) -> Iterator[str]:
    """The text of a log in blocks; bytes that are no text are replaced, so that no content is unreadable."""
    try:
        block = stream.read(BLOCK)
        decoder = _decoder(block)
        while block:
            yield decoder.decode(block)
            block = stream.read(BLOCK)
    except OSError as error:
        name = stream.name if isinstance(stream.name, str) else "standard input"
        raise CommandError(f"explain: {name}: {error.strerror}") from error
    yield decoder.decode(b"", final=True)


def _decoder(first: bytes) -> IncrementalDecoder:
    """UTF-8, unless the text begins with the mark of UTF-16: what PowerShell's `>` writes."""
    import codecs

    marked = first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return codecs.getincrementaldecoder("utf-16" if marked else "utf-8")("replace")


def _follow(explainer: Explainer, file: str | None, form: str) -> int:
    from raiselens_server.read import Reader

    reader = Reader()
    found = False
    with _opened(file) as stream:
        for piece in _growing(stream, endless=file not in {None, "-"}):
            errors = reader.settle() if piece is None else reader.feed(piece)
            for error in errors:
                found |= _tell(explainer, error, form)
            if is_unread():
                return 1 if found else 0
        for error in reader.finish():
            found |= _tell(explainer, error, form)
    return 1 if found else 0


def _tell(explainer: Explainer, error: RaisedError, form: str) -> bool:
    """Print one error of a stream; whether it is one, and no warning."""
    from raiselens_server.error import Role
    from raiselens_server.present.observed import role_of
    from raiselens_server.read import Reading

    raised = role_of(error) is not Role.WARNING
    _print(explainer, explainer.explain(Reading((error,), 0 if raised else None)), form, one_line=True)
    sys.stdout.flush()
    return raised


def _growing(stream: BinaryIO, *, endless: bool) -> Iterator[str | None]:
    """The text as it comes; `None` where nothing came for a while. A file is followed until interrupted."""
    import select
    import time

    decoder: IncrementalDecoder | None = None
    while True:
        if not endless:
            # Waiting on a pipe: poll, so that an idle stream's last error is told too.
            ready, _, _ = select.select([stream], [], [], 0.5) if os.name == "posix" else ([stream], [], [])
            if not ready:
                yield None
                continue
        block = stream.read1(BLOCK) if hasattr(stream, "read1") else stream.read(BLOCK)
        decoder = decoder or _decoder(block)
        if block:
            yield decoder.decode(block)
        elif endless:
            yield None
            time.sleep(0.2)
        else:
            yield decoder.decode(b"", final=True)
            return


def _print(explainer: Explainer, explained: Explained, form: str, *, one_line: bool = False) -> None:
    from raiselens_server.present.objects import explain_object

    around = _surroundings(explainer)
    match form:
        case "json" if one_line:
            import json

            print(json.dumps(explain_object(explained)))
        case "json":
            print_json(explain_object(explained))
        case "markdown":
            from raiselens_server.present.issue import explained_issue
            from raiselens_server.read.mask import mask

            emit_page(mask(explained_issue(explained, around), users=_users(), hosts=_hosts()))
        case _ if explained.diagnoses:
            from raiselens_server.present.explained import explained_text

            emit(explained_text(explained, around))
        case _:
            print("No error found.")


def _surroundings(explainer: Explainer) -> Surroundings:
    """Files as they are on disk; paths under the working folder are shown from there."""
    from raiselens_server.present.observed import Surroundings

    here = f"{Path.cwd()}{os.sep}"
    return Surroundings(explainer.entry, explainer.project.text_of, lambda file: file.removeprefix(here))


def _users() -> tuple[str, ...]:
    """The name of the person who asks, so far as the environment tells."""
    return tuple(os.environ[name] for name in ("USER", "LOGNAME", "USERNAME") if os.environ.get(name))


def _hosts() -> tuple[str, ...]:
    import socket

    host = socket.gethostname()
    return (host, host.partition(".")[0])
