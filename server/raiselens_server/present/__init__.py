"""Diagnoses as text, JSON, SARIF and GitHub annotations.

Pure: values in, text or JSON objects out. Nothing here knows a terminal, an editor or the command line.
"""
