"""The program around the verbs."""

from __future__ import annotations

import difflib
from typing import Any

import click

from backalley import interrupts
from backalley.command import CommandError, Commands


class Program(Commands):
    """The verbs; for a wrong one, the nearest."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb, which from now on is told of Ctrl-C."""
        interrupts.allow()
        return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was typed; for a wrong one, the nearest."""
        typed = args[0]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = difflib.get_close_matches(typed, list(self.commands), 1)
            meant = f" Did you mean {near[0]}?" if near else f" There are: {', '.join(self.commands)}."
            raise CommandError(f"There is no command {typed!r}.{meant}") from None
