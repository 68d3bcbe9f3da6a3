"""The story of one error: foreseen, repaired, verified, recognised in a log. Each command is run for real.

python tools/demo.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
RAISELENS = [sys.executable, "-m", "raiselens_server.cli.main"]


def main() -> int:
    """Run the story on copies of the examples; 0 where every command ended as it should."""
    # The story is about the bundled knowledge: what is installed or set on this machine should not change it.
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("scatter_pool.py", "serve.log"):
            shutil.copy(EXAMPLES / name, folder)

        def show(title: str, arguments: list[str], expected: int) -> bool:
            print(f"\n# {title}\n$ raiselens {' '.join(arguments)}", flush=True)
            done = subprocess.run([*RAISELENS, *arguments], cwd=folder, env=environment, check=False)
            if done.returncode != expected:
                print(f"ended with {done.returncode}, not {expected}", file=sys.stderr)
            return done.returncode == expected

        def answer(arguments: list[str]) -> dict[str, list[dict[str, object]]]:
            command = [*RAISELENS, *arguments, "--format", "json"]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            return json.loads(done.stdout)

        rule = answer(["check", "scatter_pool.py"])["findings"][0]["rule"]
        good = [
            show("Before the run: what will raise, where, and why", ["check", "scatter_pool.py"], 1),
            show("The repair", ["check", "scatter_pool.py", "--fix", "--diff"], 1),
            show("Is that so? Run it before and after", ["verify", "scatter_pool.py:19"], 0),
            show("Take it", ["check", "scatter_pool.py", "--fix"], 0),
            show("After a run: the same rule, in a log of two ranks", ["explain", "serve.log"], 1),
        ]
        record = answer(["explain", "serve.log"])["errors"][0]["record"]
    same = isinstance(record, dict) and record["slug"] == rule
    print(f"\nForeseen and explained by the same rule: {'yes' if same else 'no'} ({rule})")
    return 0 if all(good) and same else 1


if __name__ == "__main__":
    sys.exit(main())
