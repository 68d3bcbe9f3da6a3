"""What stands in for something else while a call is verified: the CPU for a GPU, a watched launcher for the scatter's own."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from raiselens_kernel.scatter.cases import Mismatch, ScatterInputs, check
from raiselens_kernel.scatter.guards import PARAMETERS
from raiselens_kernel.scatter.launch import SGLANG_BATCH_BLOCK, launch_scatter_req_token_ids_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from raiselens_kernel.resolve import Found

_POISON = -7


class OnCpu(TorchFunctionMode):
    """Where there is no GPU, `device="cuda"` in the user's own source means the CPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.Tensor.cuda:
            return args[0]
        takes_device = func is torch.Tensor.to
        moved = [_on_cpu(value) if takes_device or isinstance(value, torch.device) else value for value in args]
        named = {key: _on_cpu(value) if key == "device" else value for key, value in (kwargs or {}).items()}
        return func(*moved, **named)


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    return "cpu" if isinstance(value, str) and value.partition(":")[0] == "cuda" else value


class Watched:
    """A scatter launcher whose result is compared with the reference while it is entered as a context.

    The pool is poisoned before the launch, so that an element which was not written, or should not have been, is seen.
    """

    def __init__(self, launch: Callable[..., Any], *, repaired: Callable[..., Any] | None = None) -> None:
        """Call `launch`, and while it is watched `repaired` where that is given."""
        self.compared = 0
        self.mismatch: Mismatch | None = None
        self._launch = launch
        self._repaired = repaired or launch
        self._signature = inspect.signature(launch)
        self._watching = False

    def __enter__(self) -> None:
        """Begin to compare."""
        self._watching = True

    def __exit__(self, *raised: object) -> None:
        """Compare no more."""
        self._watching = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch."""
        if not self._watching:
            return self._launch(*args, **kwargs)
        try:
            given = self._signature.bind(*args, **kwargs).arguments
            inputs = ScatterInputs(*(given[name] for name in PARAMETERS))
        except (TypeError, KeyError):
            return self._repaired(*args, **kwargs)
        if not _is_comparable(inputs):
            return self._repaired(*args, **kwargs)
        inputs.pool_out.fill_(_POISON)
        self.mismatch = check(inputs, self._repaired) or self.mismatch
        self.compared += 1
        return None


def _is_comparable(inputs: ScatterInputs) -> bool:
    """Whether the reference takes the inputs: offsets rise from 0 to the number of tokens, rows are the pool's own."""
    try:
        steps = inputs.offsets[1:] - inputs.offsets[:-1]
        rows = inputs.req_pool_indices
        whole = int(inputs.offsets[0]) == 0 and int(inputs.offsets[-1]) == inputs.flat_in.shape[0]
        inside = rows.numel() == 0 or (int(rows.min()) >= 0 and int(rows.max()) < inputs.pool_out.shape[0])
        fits = inputs.pool_out.dtype == torch.int32 and steps.shape == rows.shape
        return fits and whole and inside and bool((steps >= 0).all()) and torch.unique(rows).numel() == rows.numel()
    except (RuntimeError, IndexError, AttributeError):
        return False


def put_in_place(found: Found) -> Watched:
    """Watch an installed launcher: wherever a loaded module holds it, it holds the watched one from now on."""
    watched = Watched(found.value)
    name = found.qualname
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is found.value:
            setattr(module, name, watched)
    return watched


def with_bundled_launcher(callee: str, imports: Iterable[str]) -> Watched:
    """Let the modules that a program imports the launcher from hold this package's own: sglang may not be here.

    With sglang's limit on the batch, as the call stands; without it once it is repaired.
    """
    limited = functools.partial(launch_scatter_req_token_ids_kernel, batch_block=SGLANG_BATCH_BLOCK)
    watched = Watched(limited, repaired=launch_scatter_req_token_ids_kernel)
    package, _, name = callee.rpartition(".")
    wanted = {package} | {_module_in(statement) for statement in imports}
    for dotted in filter(None, wanted):
        if dotted.partition(".")[0] != callee.partition(".")[0]:
            continue
        parts = dotted.split(".")
        for length in range(1, len(parts) + 1):
            path = ".".join(parts[:length])
            module = sys.modules.get(path)
            if module is None:
                module = types.ModuleType(path)
                module.__path__ = []
                sys.modules[path] = module
            if length > 1:
                setattr(sys.modules[".".join(parts[: length - 1])], parts[length - 1], module)
        setattr(sys.modules[dotted], name, watched)
    return watched


def _module_in(statement: str) -> str:
    words = statement.split()
    return words[1] if len(words) > 1 else ""
