"""Where a message ends.

Nothing in a traceback says so. What does: a link to the next exception claims everything before it; a line of another
record, process or program ends it; a blank line ends it unless what follows is indented into an open excerpt or opens
as the continuations of this field's libraries do. Lines that could be either are held until one of those decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raiselens_server.read.names import is_exception_class, is_lone_class, split_class

if TYPE_CHECKING:
    from raiselens_server.read.draft import Draft
    from raiselens_server.read.lines import Line

# After a blank line, these begin a further paragraph of the same message.
_CONTINUATIONS = (
    "Possible solutions", "Repro command", "from user code", "Set TORCH", "You can suppress", "Cannot access",
    "Access to model", "Entry Not Found", "Repository Not Found", "Please make sure", "Invalid credentials",
    "Compile with `TORCH", "For debugging consider", "CUDA kernel errors might", "HIP kernel errors might",
    "Device-side assertion tracking", "Last error:", "Original Traceback", "Original traceback",
    "For more information", "For further information", "See documentation", "See also", "Hint:", "HINT:", "hint:",
    "Note:", "NOTE:", "Did you mean", "To fix this", "To resolve", "To allow", "If you", "In case you", "Make sure",
    "Please check", "Check the documentation", "Please refer", "Please see", "Please install", "Please ", "You can ", "You should", "You may",
    "You must", "You need", "Try ", "Consider ", "Alternatively", "Otherwise,", "While executing", "Where ",
    "Developer debug context", "Explanation:", "Use `", "The following", "Available ", "Supported ", "Expected ",
    "Actual ", "Current config", "Traceback of", "Tracing", "Call using", "Error message", "stderr:", "stdout:",
    "Command:", "The error", "This error", "This may", "This is ", "This can", "The above operation",
    "-- Process ", "More details", "Open an issue", "Caused by", "Reason:", "Details:", "Ninja output", "--- ",
    "At:", "Invoked with:", "Read the migration guide", "A detailed", "Failures:", "Root Cause", "Other Failures",
)  # fmt: skip

# A hint that dynamo adds to its own message, also below what that message quotes.
_OUTER_HINTS = ("Set TORCH", "You can suppress")

# These never continue a message: shells, launchers, schedulers, the interpreter on its way out.
_ENDS = (
    "During handling of the above exception", "The above exception was the direct cause",
    "Exception in thread", "Exception ignored", "Traceback (most recent", "Fatal Python error", "terminate called",
    "libc++abi:", "Segmentation fault", "Aborted", "Killed", "Bus error", "Terminated", "srun: ", "slurmstepd: ",
    "make: ", "wandb: ", "##[", "npm ERR!", "Current thread 0x", "Thread 0x", "Extension modules:", "Exception raised from",
    "frame #", "C++ CapturedTraceback", "ERROR conda", "Error in sys.excepthook",
    "Original exception was:", "Task exception was never retrieved", "Future exception was never retrieved",
    ">>> ", "```", "~~~", "</", "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}", "➜ ", "Command exited", "command terminated with exit code", "real\t",
    "Process finished with exit code", "error: Recipe", "Press any key", "Press ENTER",
)  # fmt: skip

_PROMPT = re.compile(
    r"(?:\([\w.-]{1,40}\) )?[\w.-]{1,60}@[\w.-]{1,60}[:~ ][^$#\n]{0,200}[$#%](?: |$)"
    r"|(?:\([\w.-]{1,40}\) )?(?:\[[\w.-]{1,60}@[\w.-]{1,60} [^\]\n]{0,200}\][$#%](?: |$)|PS [A-Z]:\\|[A-Z]:\\[^>\n]{0,200}>)"
    r"|(?:ba|z|da|a|k)?sh-\d{1,2}\.\d{1,2}[$#](?: |$)|\$ |In \[\d{1,6}\]:|\[\d\][+-]? "
)
_PROCESS = re.compile(r"Process [\w.:-]{1,80}:$|make\[\d+\]: |[\w./-]{1,80}: line \d+: +\d+ |[\w.-]{1,40}-\d+ +\| ")
_LOCATED_WARNING = re.compile(r"[^\s:]{1,300}:\d{1,7}: \w{0,60}Warning: ")
_BAR = re.compile(r"[^|]{0,200}?\d{1,3}%\s?\|")
_TALLY = re.compile(r"\d{1,9}/\d{1,9} \[\d{1,3}:\d\d(?::\d\d)?<")
_STAMP = re.compile(r"[\[(<]?\d{4}[-/]\d\d[-/]\d\d[T ,_]{1,2}\d\d:\d\d:\d\d")
_BANNER = re.compile(r"(?:={3,}|-{5,}|!{5,}|_{5,}|\*{3,}) [^=\n]{0,160} (?:={3,}|-{5,}|!{5,}|_{5,}|\*{3,})$")
_NATIVE = re.compile(r"\d{1,3} +0x[0-9a-f]{2,16}[ :]|\[[\w.-]{1,60}:\d{1,9}\] \*\*\*")
# Between the sentence that announces a traceback and the traceback, `Name=triton_red_fused_0` may stand.
_FIELD = re.compile(r"[A-Za-z]\w{0,30}=\S{1,200}$")
_EXCERPT = re.compile(r"at \d{1,6}:\d{1,6}:")

_MAX_HELD = 48
_MAX_LOOSE = 120
_MAX_LINES = 20_000


def ends_message(text: str) -> bool:
    """Whether the line can be no part of a message above it."""
    if not text:
        return False
    if text[0] in " \t":
        # tqdm pads the percentage, so that a bar may begin with blanks.
        return "%" in text[:8] and "<" in text[:512] and bool(_BAR.match(text[:512]) and _TALLY.search(text[:512]))
    if text.startswith(_ENDS):
        return True
    head = text[:512]
    return bool(
        _PROMPT.match(head)
        or _PROCESS.match(head)
        or _LOCATED_WARNING.match(head)
        or _NATIVE.match(head)
        or ("%" in head and _BAR.match(head))
        or _BANNER.match(head)
        or ("<" in head and _TALLY.search(head))
        or _STAMP.match(head)
    )


def _indented(line: Line) -> bool:
    return line.text[:1] in {" ", "\t"}


@dataclass(slots=True)
class Message:
    """The message of `draft` while its further lines come in.

    `eager`: take lines that follow directly unless they end it; where the program goes on after the error, only what
    is certain is taken. `traced`: it ends a traceback. `quoted`: that stands in another message. `whole`: everything offered belongs to it.
    """

    draft: Draft
    eager: bool = True
    traced: bool = True
    quoted: bool = False
    whole: bool = False
    held: list[Line] = field(default_factory=list)
    blanks: int = 0
    quoting: bool = False
    loose: int = 0
    framed: bool = False
    """Whether the last lines are frames of a traceback that the message quotes, so that its class comes next."""
    doubtful: bool = False
    """Whether lines are held that only followed directly, where the program goes on after the error."""
    certain: int = 0
    """How many lines of the body are sure to be message; those after them only followed directly."""

    def feed(self, line: Line) -> bool:
        """Take the line, or say that the message is over."""
        text = line.text
        if self.whole or self.quoting:
            if len(self.draft.body) < _MAX_LINES:
                self.draft.body.append(line)
            if self.quoting and text.strip() == '"""':
                self.quoting = False
            return True
        if not text.strip():
            self.blanks += 1
            self.held.append(line)
            return self.blanks <= 3 and len(self.held) < _MAX_HELD
        if ends_message(text):
            return False
        if self.quoted and self.blanks and text.startswith(_OUTER_HINTS):
            return False
        if self.doubtful:
            self.held.append(line)
            return len(self.held) < _MAX_HELD
        if text.startswith(_CONTINUATIONS) and (self.traced or not self.blanks):
            return self.take(line)
        if text.strip() == '"""' and not self.draft.body and not self.held:
            self.quoting = True
            return self.take(line)
        if self.blanks:
            if self._open(text):
                return self.take(line)
            if not self.eager:
                return False
            self.held.append(line)
            return len(self.held) < _MAX_HELD
        if self._is_other(text):
            return False
        if text[0] in " \t" or self._last().endswith((":", ",", "(", "[", "{")):
            return self.take(line)
        if not self.eager and not (self.traced and (self._in_quotes() or self._ends_quoted(text))):
            if not self.traced:
                return False
            # Output of the program that goes on, unless a link to a next exception claims it.
            self.doubtful = True
            self.held.append(line)
            return True
        self.draft.body.append(line)
        self.loose += 1
        if self.loose < _MAX_LOOSE:
            return True
        self.held = self.draft.body[self.certain :]
        del self.draft.body[self.certain :]
        return False

    def claim(self) -> None:
        """A link to the next exception follows: whatever is held is message."""
        self.draft.body.extend(self.held)
        self.held = []
        self.blanks = 0

    def expects_traceback(self) -> bool:
        """Whether the message announces that a traceback is quoted in it."""
        if self.quoting:
            return True
        said = (
            text for line in reversed(self.draft.body[-4:]) if (text := line.text.strip()) and not _FIELD.match(text)
        )
        last = next(said, "") or self.draft.head.text.rstrip()
        if self.blanks and not (self.draft.body or self.draft.head.text[self.draft.skip :].strip()):
            return False
        return self.blanks < 3 and last.endswith(":") and not last.startswith("Process ")

    def take(self, line: Line) -> bool:
        """Take the line, whatever it looks like, and all that is held; False where the message is too long."""
        self.claim()
        self.draft.body.append(line)
        self.framed = line.text.lstrip().startswith('File "') or (self.framed and _indented(line))
        self.certain, self.loose = len(self.draft.body), 0
        return self.certain < _MAX_LINES

    def _last(self) -> str:
        body = self.draft.body
        return body[-1].text if body else self.draft.head.text

    def _in_quotes(self) -> bool:
        """Whether a quotation was opened in the message and not closed yet."""
        quotes = self.draft.head.text.count("'", self.draft.skip)
        return sum((line.text.count("'") for line in self.draft.body[-32:]), quotes) % 2 == 1

    def _open(self, text: str) -> bool:
        """Whether the message so far wants more after a blank line."""
        first = self.draft.head.text[self.draft.skip :]
        if not text.strip("=") and any(line.text.rstrip() == text.rstrip() for line in self.draft.body[:2]):
            return True  # the table ends as it began
        if text[0] in " \t":
            above = self.draft.body[-2:]
            return bool(_EXCERPT.match(first)) or self._last().endswith(":") or any(_indented(line) for line in above)
        return self._last().endswith(":") and not self.draft.body

    def _ends_quoted(self, text: str) -> bool:
        """Whether the line names the class of a traceback that the message quotes."""
        named = split_class(text) if self.framed else None
        return named is not None and is_exception_class(named[0])

    def _is_other(self, text: str) -> bool:
        """Whether the line is an error of its own."""
        named = split_class(text)
        if named is None or not is_lone_class(named[0]):
            return False
        if self._last().rstrip().endswith(":") or not self._last().strip():
            return False
        return not any(line.text.lstrip().startswith('File "') for line in self.draft.body)
