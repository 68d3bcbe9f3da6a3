"""Foreseeing: run source on abstract values, and say which call will raise.

`Project` is the whole interface. It reads files, never imports or runs them, and never fails: what is not understood
is unknown, and unknown is silent.
"""

from raiselens_server.foresee.project import FileReport, Project
from raiselens_server.foresee.statistics import Statistics
from raiselens_server.source.environment import Environment

__all__ = ["Environment", "FileReport", "Project", "Statistics"]
