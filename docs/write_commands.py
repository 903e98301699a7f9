"""The page of the commands, made from the commands themselves when the documentation is built."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any


def commands_page() -> str:
    """Every command with its arguments and options, as Markdown."""
    from typer.main import get_command

    from treemeans.cli.app import app

    group: Any = get_command(app)
    parts = [
        "# Commands",
        "",
        "What `treemeans --help` and `treemeans COMMAND --help` say, on one page. Every command",
        "takes `--help` (`-h`) and `--debug`, which shows the traceback of an error.",
        "`treemeans --install-completion` lets the shell complete commands and options.",
    ]
    for name, command in group.commands.items():
        parts += ["", *_section(name, command)]
    return "\n".join(parts) + "\n"


def _section(name: str, command: Any) -> list[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    words = " ".join(
        each.name.upper() if each.required else f"[{each.name.upper()}]" for each in arguments
    )
    lines = [f"## treemeans {name}", "", _text(command.help), "", "```text"]
    lines += [" ".join(f"treemeans {name} {words} [OPTIONS]".split()), "```", ""]
    lines += ["| | | default |", "| :-- | :-- | :-- |"]
    lines += [f"| `{each.name.upper()}` | {_text(each.help)} | |" for each in arguments]
    for option in options:
        if option.name in ("help", "debug"):
            continue
        names = ", ".join(f"`{each}`" for each in option.opts)
        required = "required" if option.required else _default(option)
        lines.append(f"| {names} | {_text(option.help)}{_choices(option)} | {required} |")
    return lines


def _text(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def _choices(option: Any) -> str:
    if not isinstance(option.default, Enum):
        return ""
    return " One of " + ", ".join(f"`{each.value}`" for each in type(option.default)) + "."


def _default(option: Any) -> str:
    value = getattr(option.default, "value", option.default)
    return "" if value in (None, False, ()) else f"`{value}`"


def main() -> None:
    """Write docs/commands.md."""
    Path(__file__).with_name("commands.md").write_text(commands_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
