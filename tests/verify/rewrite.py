"""Write the programs that are built today into the case files, for review: `python tests/verify/rewrite.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.foresee.case_file import read_cases  # noqa: E402 the path is set above
from tests.foresee.shared import shared_project  # noqa: E402
from tests.verify.programs import programs, target_in  # noqa: E402


def main() -> None:
    for path in sorted((ROOT / "tests" / "cases" / "verify").glob("*.md")):
        lines = path.read_text(encoding="utf-8").split("\n")
        for case in reversed(read_cases(path)):
            python = [block for block in case.blocks if block.language == "python" and block.line > case.line]
            begin = python[-1].line + python[-1].text.count("\n")
            end = next((n for n in range(begin, len(lines)) if lines[n].startswith("## ")), len(lines))
            with tempfile.TemporaryDirectory() as folder:
                case.write(Path(folder))
                text = "\n\n".join(programs(target_in(shared_project(), Path(folder))))
            lines[begin:end] = ["", *text.split("\n"), *([""] if end < len(lines) else [])]
        path.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
