"""What must not go into a public issue: users, homes, hosts, addresses, tokens. Replaced by a word that says what it was.

One pass for each kind, every pattern bounded, so that masking is linear in the text. Paths keep their last parts,
since those tell which file it was.
"""

from __future__ import annotations

import re

_HOME = re.compile(
    r"(?P<lead>/(?:home|Users|users|u|export/home|mnt/home|data/home|nfs/home|lustre/home)/)(?P<user>[\w.@+-]{1,64})(?=[/\s\"':;,)\]]|$)"
)
_WINDOWS_HOME = re.compile(
    r"(?P<lead>[A-Za-z]:[\\/]{1,2}Users[\\/]{1,2})(?P<user>[^\\/\s\"':;,]{1,64}(?: {1,2}[^\\/\s\"':;,]{1,64}){0,3}(?=[\\/])|[^\\/\s\"':;,]{1,64}(?=[\s\"']|$))"
)
# The machine of a Windows share: \\\\host\\share, also with its backslashes doubled.
_SHARE = re.compile(r"(?<![\w\\:])\\{2}(?P<lead>\\\\)?(?P<host>[A-Za-z][\w.-]{1,80})\\(?(lead)\\)[\w$]")
_PROMPT = re.compile(
    r"(?<![\w.@+/-])(?P<user>[a-z_][\w.-]{0,31})@(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){0,6})(?=[:~ $#\])]|$)"
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}")
_SYSLOG = re.compile(
    r"(?m)^(?P<lead>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d )(?P<host>[\w.-]{1,80})(?= )"
)
_FIELD = re.compile(
    r"(?P<lead>\b(?:host|hostname|node|nodename|node_ip_address|HOSTNAME) {0,12}[:=] {0,4}[\"']?)(?P<host>[\w.-]{1,80})"
)
_URL_SECRET = re.compile(r"(?P<lead>\b[a-z][a-z0-9+.-]{1,20}://)(?:[^\s/@:]{1,120}:[^\s/@]{1,200}|[\w.~%+-]{16,200})@")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?:[0-9A-Fa-f]{1,4}:){3,7}(?::?[0-9A-Fa-f]{1,4}){0,7}(?![\w:])|(?<![\w:])[0-9A-Fa-f]{1,4}::[0-9A-Fa-f:]{1,34}(?![\w:])"
)
_MAC = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])")
_TOKEN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,80}|sk-[A-Za-z0-9_-]{16,200}|gh[pousr]_[A-Za-z0-9]{20,100}|github_pat_\w{20,120}"
    r"|glpat-[\w-]{16,60}|xox[abprs]-[\w-]{10,120}|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|AIza[\w-]{30,50}|nvapi-[\w-]{20,120}"
    r"|gsk_[A-Za-z0-9]{20,100}|npm_[A-Za-z0-9]{20,100}|do[opr]_v1_[0-9a-f]{16,100}|pypi-[\w-]{16,300}|r8_[A-Za-z0-9]{20,60}"
    r"|SG\.[\w-]{16,40}\.[\w-]{16,80}|dckr_(?:pat|oat)_[\w-]{16,80}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,120}|xai-[A-Za-z0-9]{20,120}"
    r"|(?:tgp_v1|lsv2_[ps]t)_\w{20,120}|(?:pplx|tskey)-[\w-]{20,120}"
    r"|ya29\.[\w-]{20,200}|eyJ[\w-]{10,2000}\.[\w-]{10,2000}\.[\w-]{5,2000})"
)
_BEARER = re.compile(r"(?i)(?P<lead>\b(?:bearer|basic|token) )[\w.~+/=-]{16,2000}")
_SECRET = re.compile(
    r"(?i)(?P<lead>\b[\w-]{0,40}(?:api[_-]?key|secret|token|passwd|password|access[_-]?key|credentials?)[\w-]{0,20}"
    r"[\"']? {0,2}[=:] {0,2}[\"']?)(?P<value>[^\s\"',;&)\]}]{4,2000})"
)
_OPTION = re.compile(
    r"(?i)(?P<lead>--[\w-]{0,40}(?:api[_-]?key|secret|token|passwd|password)[ ])(?P<value>[^\s\"']{4,2000})"
)
# The signature of a signed URL (Azure's `sig`, Amazon's and Google's `X-…-Signature`) opens what it names.
_SIGNATURE = re.compile(
    r"(?i)(?P<lead>[?&](?:sig|signature|x-(?:amz|goog)-signature|key|auth)=)(?P<value>[\w%.~+/=-]{8,2000})"
)
_PEM = re.compile(r"(?P<lead>-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[A-Za-z0-9+/=\s\\]{1,8000}")
_PUBLIC_KEY = re.compile(r"\b(?P<lead>ssh-(?:rsa|ed25519) )[A-Za-z0-9+/=]{20,2000}")
_KEEP = frozenset({"none", "null", "true", "false", "0.0.0.0", "127.0.0.1", "localhost"})  # noqa: S104
_NOT_USERS = frozenset({"root", "runner", "user", "ubuntu", "git"})


def mask(text: str, *, users: tuple[str, ...] = (), hosts: tuple[str, ...] = ()) -> str:
    """The text without what names people and machines.

    `users` and `hosts` are names known from elsewhere (of the person who asks, of this machine): they are masked
    wherever they stand as words. Names found in a home or a prompt are then masked in the rest of the text too.
    """
    names = {*users} - {""}
    machines = {*hosts} - {""}
    for pattern in (_HOME, _WINDOWS_HOME):
        names.update(found["user"] for found in pattern.finditer(text))
    for found in _PROMPT.finditer(text):
        names.add(found["user"])
        machines.add(found["host"])
    for pattern in (_SYSLOG, _FIELD, _SHARE):
        machines.update(found["host"] for found in pattern.finditer(text))
    text = _URL_SECRET.sub(r"\g<lead><credentials>@", text)
    text = _TOKEN.sub("<token>", text)
    text = _PEM.sub(r"\g<lead><secret>", text)
    text = _PUBLIC_KEY.sub(r"\g<lead><key>", text)
    text = _SIGNATURE.sub(_secret, text)
    text = _BEARER.sub(r"\g<lead><token>", text)
    text = _SECRET.sub(_secret, text)
    text = _OPTION.sub(_secret, text)
    text = _HOME.sub(r"\g<lead><user>", text)
    text = _WINDOWS_HOME.sub(r"\g<lead><user>", text)
    text = _MAIL.sub("<email>", text)
    text = _MAC.sub("<mac>", text)
    text = _IPV6.sub("<ip>", text)
    text = _IPV4.sub(_address, text)
    text = _words(text, {name for name in names if len(name) > 2 and name not in _NOT_USERS}, "<user>")
    return _words(
        text,
        {name for name in machines if len(name) > 2 and name.lower() not in _KEEP and not name.isdigit()},
        "<host>",
    )


def _secret(found: re.Match[str]) -> str:
    value = found["value"]
    if value.lower() in _KEEP or value.startswith("<") or value.isdigit():
        return found.group()
    return f"{found['lead']}<secret>"


def _address(found: re.Match[str]) -> str:
    parts = found.group().split(".")
    if any(int(part) > 255 for part in parts):
        return found.group()
    return found.group() if found.group() in _KEEP else "<ip>"


def _words(text: str, words: set[str], instead: str) -> str:
    """The words replaced where they stand alone."""
    if not words:
        return text
    longest_first = sorted(words, key=len, reverse=True)
    return re.sub(rf"(?<![\w<-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w>-])", instead, text)
