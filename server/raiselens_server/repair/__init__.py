"""Repairs: edits that make a foreseen error go away.

`wants` reads from the guard what would have passed it; one file a kind of repair proposes edits; `recheck` foresees the
edited text and drops every proposal that does not help; `consumers` says which of the rest are safe.
"""

from raiselens_server.repair.repairs import repairs_for

__all__ = ["repairs_for"]
