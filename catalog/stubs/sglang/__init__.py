"""Guard stubs for sglang: signatures and guards of the launchers that Raiselens knows without sglang installed."""
