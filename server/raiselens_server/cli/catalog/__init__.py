"""`raiselens catalog`: one file a subcommand, loaded when it is called."""

from __future__ import annotations

from raiselens_server.cli.lazy import lazy_group

command = lazy_group(
    "catalog",
    "raiselens_server.cli.catalog",
    {
        "show": "print a record, by id, slug or message",
        "search": "find records by words",
        "import": "add records to the user's own",
        "build": "mine records from installed libraries",
        "export": "print a record's JSON as it was imported",
        "site": "write the records as a static site",
        "lint": "check records that people write",
    },
    "Look up, search, import, build and publish error records.",
)
