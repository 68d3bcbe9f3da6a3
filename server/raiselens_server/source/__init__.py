"""Source text: parsed by tree-sitter, lowered to a small tuple IR, and found on disk by import name.

Nothing here knows of abstract values, and nothing is imported or run to learn what a file holds.
"""
