"""What ends a command early: one clear line, exit code 2."""

from __future__ import annotations


class CommandError(Exception):
    """Bad usage or unreadable input; the text is the line that is printed. It names the file and what to do."""
