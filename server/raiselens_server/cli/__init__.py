"""The command line: one file a command. Nothing but this package and `lsp/` prints, reads arguments or exits."""
