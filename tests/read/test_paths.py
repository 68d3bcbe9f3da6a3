"""Frames of other machines and the files they are here."""

from __future__ import annotations

import pytest

from raiselens_server.read.paths import PathMap, Places, in_workspace, is_file_name, locate, parse_map

FILES = frozenset({
    "/ws/ComfyUI/execution.py",
    "/ws/ComfyUI/comfy/ldm/attention.py",
    "/ws/ComfyUI/vit/train.py",
    "/ws/ComfyUI/utils.py",
    "/home/ada/lora/trainer.py",
    "/env/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py",
    "/mapped/model/run.py",
})  # fmt: skip
PLACES = Places(
    maps=(PathMap("/workspace/app", "/mapped"),),
    roots=("/ws/ComfyUI",),
    packages=("/env/lib/python3.11/site-packages",),
    home="/home/ada",
)


@pytest.mark.parametrize(
    ("file", "local"),
    [
        ("/ws/ComfyUI/vit/train.py", "/ws/ComfyUI/vit/train.py"),
        ("vit/train.py", "/ws/ComfyUI/vit/train.py"),
        ("./vit/train.py", "/ws/ComfyUI/vit/train.py"),
        ("../ComfyUI/vit/train.py", "/ws/ComfyUI/vit/train.py"),
        ("/container/src/vit/train.py", "/ws/ComfyUI/vit/train.py"),
        (r"C:\AI\ComfyUI\execution.py", "/ws/ComfyUI/execution.py"),
        (r"C:\AI\ComfyUI\comfy\ldm\attention.py", "/ws/ComfyUI/comfy/ldm/attention.py"),
        ("~/lora/trainer.py", "/home/ada/lora/trainer.py"),
        ("/workspace/app/model/run.py", "/mapped/model/run.py"),
        (
            "/srv/env/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py",
            "/env/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py",
        ),
        (
            "/usr/local/lib/python3.10/dist-packages/sglang/srt/managers/scheduler.py",
            "/env/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py",
        ),
        (
            "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py",
            "/env/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py",
        ),
    ],
)
def test_file_is_found(file: str, local: str):
    assert locate(file, PLACES, FILES.__contains__) == local


@pytest.mark.parametrize(
    "file",
    [
        "<string>",
        "<frozen runpy>",
        "Cell In[12]",
        "",
        "/elsewhere/lib/other/utils.py",  # a bare file name would match, and says nothing
        "/usr/lib/python3.12/site-packages/vit/train.py",  # a package's file is not the workspace's of the same end
        "/workspace/application/run.py",  # a map is of whole folders
    ],
)
def test_file_is_not_guessed(file: str):
    found = locate(file, PLACES, (FILES - {"/ws/ComfyUI/vit/train.py"}).__contains__)
    assert found is None


def test_few_files_are_asked_for():
    asked: list[str] = []

    def exists(path: str) -> bool:
        asked.append(path)
        return False

    assert locate("/".join("abcdefgh" * 200), PLACES, exists) is None
    assert len(asked) <= 100


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("/a/b=/c", PathMap("/a/b", "/c")),
        ("/a/b/=/c/", PathMap("/a/b", "/c")),
        (r"C:\src=/c", PathMap("C:/src", "/c")),
        ("/a/b", None),
        ("=/c", None),
        ("/a=", None),
    ],
)
def test_map_is_parsed(text: str, rule: PathMap | None):
    assert parse_map(text) == rule


def test_an_environment_in_the_workspace_is_not_the_workspace():
    assert in_workspace("/ws/ComfyUI/vit/train.py", ["/ws/ComfyUI"])
    assert not in_workspace("/ws/ComfyUI/.venv/lib/python3.11/site-packages/torch/nn.py", ["/ws/ComfyUI"])
    assert not in_workspace("/ws/ComfyUI2/x.py", ["/ws/ComfyUI"])


def test_file_names():
    assert is_file_name("a.py")
    assert not is_file_name("<stdin>")
