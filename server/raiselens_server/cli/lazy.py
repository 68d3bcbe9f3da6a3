"""Command groups whose commands are modules, imported when they are called."""

from __future__ import annotations

import importlib
import keyword

import click


class LazyGroup(click.Group):
    """A group that knows its commands by name and by a line of help; `PACKAGE.NAME.command` is each command."""

    package: str
    titles: dict[str, str]

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.titles)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in self.titles:
            return None
        module = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command = importlib.import_module(f"{self.package}.{module}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"{cmd_name} holds no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # click would import every command for its help.
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self.titles.items()))


def lazy_group(name: str, package: str, titles: dict[str, str], summary: str) -> LazyGroup:
    """A group of the commands that `titles` names (name → line of help)."""
    group = LazyGroup(name, help=summary, context_settings={"help_option_names": ["-h", "--help"]})
    group.package = package
    group.titles = titles
    return group
