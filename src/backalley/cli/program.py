"""The program around the verbs."""

from __future__ import annotations

import difflib

import click

from backalley.command import CommandError, Commands


class Program(Commands):
    """The verbs; for a wrong one, the nearest."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was typed; for a wrong one, the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = difflib.get_close_matches(args[0], list(self.commands), 1)
            meant = f" Did you mean {near[0]}?" if near else f" There are: {', '.join(self.commands)}."
            raise CommandError(f"There is no command {args[0]!r}.{meant}") from None
