"""Settings: `[tool.raiselens]` of `pyproject.toml`, or `raiselens.toml`, with the editor's or the flags' over them.

An unknown key or a bad value is one warning that names file, line and key; everything else stays in force.
"""

from __future__ import annotations

import fnmatch
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pathspec import GitIgnoreSpec

from raiselens_server.source.presence import is_file, is_folder, is_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from raiselens_server.error import Diagnosis

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DiagnosticMode: TypeAlias = Literal["open-files", "workspace"]

TRUSTED_ONLY = ("python", "launcher")
"""Keys that name programs to run: files of an untrusted workspace cannot set them."""

MOST_STARS = 8
"""More wildcards than this in one path pattern are refused: matching them could take time without bound."""


class SettingError(ValueError):
    """A value that a setting cannot take; the text says what it takes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force for one folder. Relative paths were resolved against the folder of the file that named them.

    `select` and `ignore` hold rule ids, with `*` and `?` as wildcards; an empty `select` stands for every rule.
    `named_by_user` are the keys set by a flag or a user-level setting rather than by a file of the workspace, `set_at`
    the places of those that a file set.
    """

    root: Path
    python: str | None = None
    extra_path: tuple[Path, ...] = ()
    catalogs: tuple[Path, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    path_map: tuple[tuple[str, str], ...] = ()
    launcher: str | None = None
    site: str | None = None
    unsafe_fixes: bool = False
    inlay_hints: bool = False
    diagnostic_mode: DiagnosticMode = "open-files"
    named_by_user: frozenset[str] = field(default_factory=frozenset)
    set_at: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def place_of(self, key: str) -> str | None:
        """The `FILE:LINE: key` of the configuration that set a key; None where none did, or a flag stands over it."""
        return None if key.replace("-", "_") in self.named_by_user else dict(self.set_at).get(key)

    def shows(self, diagnosis: Diagnosis, file: Path) -> bool:
        """Whether the settings let this finding of `file` show."""
        names = [diagnosis.rule]
        if diagnosis.record is not None:
            names.append(diagnosis.record.record_id)
        if self.select and not _any_matches(names, self.select):
            return False
        return not _any_matches(names, self.ignore) and not _any_matches(names, self._ignored_in(file))

    def excludes(self, file: Path) -> bool:
        """Whether a file is one not to look at, by `exclude`."""
        if not self.exclude:
            return False
        return GitIgnoreSpec.from_lines(self.exclude).match_file(relative_to(file, self.root))

    def _ignored_in(self, file: Path) -> tuple[str, ...]:
        if not self.per_file_ignores:
            return ()
        place = relative_to(file, self.root)
        return tuple(
            rule
            for pattern, rules in self.per_file_ignores
            if GitIgnoreSpec.from_lines([pattern]).match_file(place)
            for rule in rules
        )


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """One line for people about one key, or about the whole file where `key` is empty."""

    file: str
    line: int | None
    key: str
    text: str

    def __str__(self) -> str:
        """The line as it is printed."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.key}: {self.text}" if self.key else f"{place}: {self.text}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, the file they came from if there is one, and what was wrong with it."""

    settings: Settings
    file: Path | None = None
    problems: tuple[SettingProblem, ...] = ()


def load_settings(start: Path, *, trusted: bool = True) -> Loaded:
    """The settings for code at `start`: of the nearest folder upward that holds any.

    In one folder `raiselens.toml` comes before `pyproject.toml`. Without `trusted` the file cannot name programs.
    """
    start = start.absolute()
    for folder in (start, *start.parents):
        for name in ("raiselens.toml", "pyproject.toml"):
            path = folder / name
            if is_file(path):
                loaded = _read(path, trusted=trusted)
                if loaded is not None:
                    return loaded
    return Loaded(Settings(start if is_folder(start) else start.parent))


def merge(settings: Settings, values: Mapping[str, Any], *, source: str, known_only: bool = True) -> Loaded:
    """`settings` with the user's own `values` over them: flags, or the editor's settings.

    Keys may be written with hyphens or in camel case. With `known_only` other keys are passed over silently, since an
    editor keeps settings of its own beside ours.
    """
    return _apply(settings, values, source=source, line_of=lambda _key: None, by_user=True, quiet_unknown=known_only)


def relative_to(file: Path, root: Path) -> str:
    """`file` as path patterns see it: relative to `root` where it lies below, with `/` between the parts."""
    absolute = file.absolute()
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else absolute.as_posix().lstrip("/")


def _any_matches(names: Iterable[str], patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _read(path: Path, *, trusted: bool) -> Loaded | None:
    """The settings of one file; `None` for a `pyproject.toml` that says nothing of us."""
    own_file = path.name == "raiselens.toml"
    settings = Settings(path.parent)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        document = tomllib.loads(text)
    except OSError as error:
        return Loaded(settings, path, (SettingProblem(str(path), None, "", f"cannot be read ({error.strerror})"),))
    except UnicodeDecodeError as error:
        return _no_toml(settings, path, error.object.count(b"\n", 0, error.start) + 1, "not UTF-8")
    except tomllib.TOMLDecodeError as error:
        told = re.search(r"line (\d+)", str(error))
        return _no_toml(settings, path, int(told[1]) if told else None, str(error))
    except RecursionError:
        return _no_toml(settings, path, None, "nested too deeply")
    tool = document.get("tool")
    table = document if own_file else tool.get("raiselens") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        line = _line_of(text, "raiselens", own_file=own_file)
        return Loaded(settings, path, (SettingProblem(str(path), line, "tool.raiselens", "must be a table"),))
    loaded = _apply(
        settings,
        table,
        source=str(path),
        line_of=lambda key: _line_of(text, key, own_file=own_file),
        by_user=False,
        barred=() if trusted else TRUSTED_ONLY,
    )
    return replace(loaded, file=path)


def _no_toml(settings: Settings, path: Path, line: int | None, reason: str) -> Loaded:
    problem = f"not valid TOML, so none of its settings are in force ({reason})"
    return Loaded(settings, path, (SettingProblem(str(path), line, "", problem),))


def _line_of(text: str, key: str, *, own_file: bool) -> int | None:
    """The line that sets `key`: TOML's own parser keeps no lines, so the file is looked through once more."""
    assignment = re.compile(rf"""[ \t]*(?:tool\.)?(?:raiselens\.)?["']?{re.escape(key)}["']?[ \t]*(?:=|\.)""")
    header = re.compile(rf"""[ \t]*\[(?:tool\.raiselens\.)?["']?{re.escape(key)}["']?\]""")
    inside = own_file
    for number, line in enumerate(text.split("\n"), 1):
        if header.match(line):
            return number
        if line.lstrip().startswith("["):
            inside = own_file or line.split("#")[0].strip().strip("[]").replace(" ", "") in {"tool.raiselens", "tool"}
        elif (inside or "raiselens." in line) and assignment.match(line):
            return number
    return None


def _apply(
    settings: Settings,
    values: Mapping[str, Any],
    *,
    source: str,
    line_of: Callable[[str], int | None],
    by_user: bool,
    barred: tuple[str, ...] = (),
    quiet_unknown: bool = False,
) -> Loaded:
    problems: list[SettingProblem] = []
    changes: dict[str, Any] = {}
    set_at: dict[str, str] = {}
    for written, value in values.items():
        key = _hyphenated(written)
        reader = _READERS.get(key)
        if reader is None:
            if not quiet_unknown:
                known = ", ".join(sorted(_READERS))
                problems.append(SettingProblem(source, line_of(written), written, f"unknown setting; known: {known}"))
            continue
        if key in barred:
            text = "left out: a workspace that is not trusted cannot name programs to run"
            problems.append(SettingProblem(source, line_of(written), written, text))
            continue
        if by_user and value is None:
            continue
        try:
            changes[key.replace("-", "_")] = reader(value, settings.root)
        except SettingError as error:
            problems.append(SettingProblem(source, line_of(written), written, str(error)))
        else:
            if not by_user:
                line = line_of(written)
                set_at[key] = f"{source}: {written}" if line is None else f"{source}:{line}: {written}"
    named = settings.named_by_user | (frozenset(changes) if by_user else frozenset())
    places = (*settings.set_at, *set_at.items())
    return Loaded(replace(settings, **changes, named_by_user=named, set_at=places), None, tuple(problems))


def _hyphenated(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"-{match[1].lower()}", key).replace("_", "-")


def _text(value: Any, _root: Path) -> str | None:
    if not isinstance(value, str):
        raise SettingError(f"must be a string, not {_named_type(value)}")
    return value or None


def _interpreter(value: Any, root: Path) -> str | None:
    """A bare name is looked up on `$PATH`; anything with a slash is a path."""
    text = _text(value, root)
    if text is None or ("/" not in text and "\\" not in text and not is_there(root / text)):
        return text
    return str(root / Path(text).expanduser())


def _flag(value: Any, _root: Path) -> bool:
    if not isinstance(value, bool):
        raise SettingError(f"must be true or false, not {_named_type(value)}")
    return value


def _texts(value: Any, _root: Path) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise SettingError(f"must be a list of strings, not {_named_type(value)}")
    for item in value:
        if not isinstance(item, str):
            raise SettingError(f"must be a list of strings, and holds {_named_type(item)}")
    return tuple(value)


def _site(value: Any, root: Path) -> str | None:
    text = _text(value, root)
    if text is not None and not text.startswith(("https://", "http://")):
        raise SettingError(f"must begin with https:// or http://, unlike {text!r}")
    return text


def _paths(value: Any, root: Path) -> tuple[Path, ...]:
    return tuple(root / Path(text).expanduser() for text in _texts(value, root))


def _patterns(value: Any, root: Path) -> tuple[str, ...]:
    patterns = _texts(value, root)
    for pattern in patterns:
        check_pattern(pattern)
    return patterns


def check_pattern(pattern: str) -> None:
    """Raise `SettingError` for a path pattern that is malformed or could take too long to match."""
    if len(re.findall(r"\*+", pattern)) > MOST_STARS:
        raise SettingError(f"{pattern!r} has more than {MOST_STARS} wildcards")
    try:
        GitIgnoreSpec.from_lines([pattern])
    except ValueError as error:
        raise SettingError(f"{pattern!r} is no path pattern ({error})") from error


def _ignores_by_file(value: Any, root: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise SettingError("must be a table of path pattern = list of rules")
    found = []
    for pattern, rules in value.items():
        check_pattern(pattern)
        try:
            found.append((pattern, _texts(rules, root)))
        except SettingError as error:
            raise SettingError(f"{pattern!r}: {error}") from error
    return tuple(found)


def _path_map(value: Any, _root: Path) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(there, str) for there in value.values()):
        raise SettingError("must be a table of path in the log = path here")
    return tuple(value.items())


def _mode(value: Any, _root: Path) -> DiagnosticMode:
    match value:
        case "open-files" | "openFiles":
            return "open-files"
        case "workspace":
            return "workspace"
        case _:
            raise SettingError(f'must be "open-files" or "workspace", not {value!r}')


def _named_type(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "a table", str: "a string"}
    return names.get(type(value), type(value).__name__)


_READERS: dict[str, Callable[[Any, Path], Any]] = {
    "python": _interpreter,
    "extra-path": _paths,
    "catalogs": _paths,
    "select": _texts,
    "ignore": _texts,
    "exclude": _patterns,
    "per-file-ignores": _ignores_by_file,
    "path-map": _path_map,
    "launcher": _text,
    "site": _site,
    "unsafe-fixes": _flag,
    "inlay-hints": _flag,
    "diagnostic-mode": _mode,
}
