"""The language server: one file a method, each of them guard, snapshot, one question to the session, encode.

Nothing outside this package knows the protocol, and nothing in it analyses: `session.Session` answers, on one worker
thread. Conversions between positions live in `convert.py` only.
"""
