"""torch.nn.Module by name: it is known by rule, so that a look-up goes past it without reading its source."""

from __future__ import annotations

from typing import Final

MODULE_CLASS: Final = "torch.nn.Module"

_WRITTEN: Final = (
    "T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval "
    "extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules "
    "mtia named_buffers named_children named_modules named_parameters parameters register_backward_hook register_buffer "
    "register_forward_hook register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook "
    "register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module register_parameter "
    "register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule "
    "share_memory state_dict to to_empty train training type xpu zero_grad"
)
_NAMES: Final = frozenset(_WRITTEN.split())


def module_has(name: str) -> bool:
    """Whether torch.nn.Module itself has an attribute of this name; of those with an underscore it may."""
    return name in _NAMES or name.startswith("_")
