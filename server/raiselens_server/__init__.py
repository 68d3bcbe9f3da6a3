"""Raiselens: see the `raise` before it happens, and explain it after."""

__version__ = "0.1.0"
