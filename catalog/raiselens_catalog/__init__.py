"""The catalog of errors: records, templates, matching, layers and pages. Knows nothing of LSP, torch or the editor.

Open once, ask often::

    catalog = Catalog.open(catalogs=[Path("team.json")], workspace=Path("repo"))
    for candidate in catalog.match("TypeError", "kv-canary: … got torch.int64", frames=error.frames, holes=()):
        candidate.entry.record.slug, candidate.how, candidate.captures     # best first; () where nothing matches
    entry = catalog.get("77c238349aca21f2")             # id or slug; None where unknown
    entry = catalog.require("77c238349aca21f2")         # the same, raising CatalogError (one line) where unknown
    catalog.match_guard("pkg.mod.function", "x.dtype != torch.int32")      # a guard that has no message
    catalog.search("pool_out int32", limit=20)          # entries, best first
    catalog.find("77c2…" | slug | free text)            # what `catalog show` accepts: entries, best first
    catalog.export("77c238349aca21f2")                  # the JSON text as it was imported, envelope and all
    catalog.import_file(Path("seed.json"))              # into the user layer; the entries that came in
    catalog.related(entry)                              # entries of its related errors
    catalog.problems                                    # one line per file or pattern that was left out

`frames` are any objects with `file`, `line`, `function`, outermost first; `holes` any objects with `start`, `end`,
`expr` (the spans of `{expr}` in a foreseen message). `raiselens_server.error.Frame` and `Hole` fit as they are.

Pages: `markdown(entry, catalog)` the whole page, `hover(entry, captures)` the compact one, `json_text(record)`.
Templates: `Template.from_message(errorMessage)`, `.from_pattern`, `.from_parts([literal, Hole(expr), …])` for callers with
their own syntax tree, `expression.template_of_expression(source)`.
Rules: `slug(template)` for a message template, `guard_slug(qualname, condition)` for a guard without a message,
`record_id(repo, path, class_name, message)`. Sources: `with_source(record, text)` fills `sourceCode` from the installed
file. `stub_roots()` are to be put on the search path behind everything installed.

Every refusal is a `CatalogError`: `str(error)` is the one line to print, naming file, line and what to do.

The raising file itself, in its installed version, needs no catalog: `spot.mine_on_the_spot(path, source_bytes)` makes a
layer for `catalog.match(…, also=[layer])`.

`raiselens catalog …` calls: show → `Catalog.find`, `markdown`, `export` · search → `Catalog.search` · import →
`Catalog.import_file` · export → `Catalog.export` · build → `build.build(targets, output=, languages=, jobs=,
search_path=, progress=)`, whose `Report.to_json()` is the JSON of INTERFACE · site → `site.write_site(catalog, folder)` ·
lint → `lint.lint_files(paths)`. These modules load more than the facade does: import them where they are called.
"""

from raiselens_catalog.entry import Entry, Layer
from raiselens_catalog.layers import Catalog, records_root, stub_roots, stubs_root, user_data_dir
from raiselens_catalog.match import Candidate, FrameLike, HoleLike, How
from raiselens_catalog.pages import hover, json_text, markdown
from raiselens_catalog.record import CatalogError, Envelope, Guard, Record, with_source
from raiselens_catalog.template import Hole, Part, Template, guard_slug, record_id, slug

__all__ = [
    "Candidate",
    "Catalog",
    "CatalogError",
    "Entry",
    "Envelope",
    "FrameLike",
    "Guard",
    "Hole",
    "HoleLike",
    "How",
    "Layer",
    "Part",
    "Record",
    "Template",
    "guard_slug",
    "hover",
    "json_text",
    "markdown",
    "record_id",
    "records_root",
    "slug",
    "stub_roots",
    "stubs_root",
    "user_data_dir",
    "with_source",
]
