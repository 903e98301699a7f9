"""What a user may pass to a baseline; anything else is refused with one sentence."""

from typing import Any

from treemeans.validation import is_integer, is_number, quoted


def check_integer(model: Any, name: str, *, least: int = 1, or_none: bool = False) -> None:
    """An integer of at least ``least``."""
    value = getattr(model, name)
    if (value is None and or_none) or (is_integer(value) and value >= least):
        return
    none = ", or None" if or_none else ""
    raise ValueError(f"{name} must be an integer of at least {least}{none}; got {value!r}.")


def check_number(model: Any, name: str, least: float, most: float = float("inf")) -> None:
    """A number from ``least`` to ``most``."""
    value = getattr(model, name)
    if not (is_number(value) and least <= value <= most):
        bounds = f"of at least {least}" if most == float("inf") else f"from {least} to {most}"
        raise ValueError(f"{name} must be a number {bounds}; got {value!r}.")


def check_choice(model: Any, name: str, choices: tuple[str, ...]) -> None:
    """One of several names."""
    value = getattr(model, name)
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name} must be one of {quoted(choices)}; got {value!r}.")


def check_flag(model: Any, name: str) -> None:
    """True or False."""
    value = getattr(model, name)
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False; got {value!r}.")
