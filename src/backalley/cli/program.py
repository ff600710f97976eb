"""The program and its commands."""

from __future__ import annotations

from typing import Any

import click

from backalley.console import start
from backalley.console.command import CommandError, Commands
from backalley.console.errors import did_you_mean


class Program(Commands):
    """The commands; for a wrong name, the error suggests the nearest."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; from now on Ctrl-C raises KeyboardInterrupt."""
        start.allow_interrupts()
        return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was typed; for a wrong name, suggest the nearest."""
        typed = args[0]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            meant = did_you_mean(typed, self.commands) or f" There are: {', '.join(self.commands)}."
            raise CommandError(f"There is no command {typed!r}.{meant}") from None
