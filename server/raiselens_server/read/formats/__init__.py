"""One file for each way in which an error is printed.

Each format has `opens(line)`, which says whether a unit of it may begin at the line, and a class of units with
`feed(line) -> bool` (False: the unit is over and did not take the line) and `close() -> Unit | None`.
"""
