"""`raiselens server`: the language server, on stdio or a socket."""

from __future__ import annotations

import click

from raiselens_server.cli.failure import CommandError


@click.command(name="server")
@click.option("--tcp", metavar="HOST:PORT", help="Listen on a socket instead of stdin and stdout.")
@click.option("--stdio", is_flag=True, hidden=True, help="What editors pass by habit; it is the default.")
@click.option("--log-level", default="warning", type=click.Choice(["debug", "info", "warning", "error"]))
def command(tcp: str | None, stdio: bool, log_level: str) -> int:
    """Speak the language server protocol. Logs go to stderr, never to stdout."""
    del stdio
    from raiselens_server.lsp.start import serve_stdio, serve_tcp

    if tcp is None:
        return serve_stdio(log_level)
    host, colon, port = tcp.rpartition(":")
    if not colon or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise CommandError(f"--tcp {tcp}: must be HOST:PORT")
    try:
        return serve_tcp(host or "127.0.0.1", int(port), log_level)
    except OSError as error:
        raise CommandError(f"--tcp {tcp}: {error.strerror or error}") from error
