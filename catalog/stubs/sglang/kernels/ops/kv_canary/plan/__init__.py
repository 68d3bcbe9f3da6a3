"""Guard stubs."""
