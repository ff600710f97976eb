"""The program around the verbs: every known error becomes its sentence, with exit code 2; Ctrl-C ends with 130."""

from __future__ import annotations

import difflib
import dis
from typing import Any

import click

EXTRAS = {"torch", "stable_baselines3", "sb3_contrib", "tensorboard", "yaml"}
"""Modules that come with `pip install 'backalley[train]'`."""
WRONG, INTERRUPTED = 2, 130


class CommandError(click.ClickException):
    """What went wrong, in one line."""

    exit_code = WRONG

    def show(self, file: Any = None) -> None:
        """`Error: ...` on standard error."""
        click.echo(f"Error: {self.message}", err=True)


def _ours(error: BaseException) -> bool:
    """Whether an error was raised by a `raise` of this package's own code, and so has a sentence for a person; others
    are bugs and keep their trace."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or str(trace.tb_frame.f_globals.get("__name__", "")).split(".")[0] != "backalley":
        return False
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


class Program(click.Group):
    """The verbs in the order written, with every known error turned into its sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of this file."""
        return list(self.commands)

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

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            click.echo("\nStopped by Ctrl-C.", err=True)
            ctx.exit(INTERRUPTED)
        except ModuleNotFoundError as error:
            if error.name is None and _ours(error):
                raise CommandError(str(error)) from error
            missing = (error.name or "").split(".")[0]
            if missing not in EXTRAS:
                raise
            raise CommandError(
                f"This needs {missing}, which is not installed: pip install 'backalley[train]'"
            ) from error
        except MemoryError as error:
            raise CommandError("This does not fit into memory; ask for fewer tables, deals or worlds.") from error
        except BrokenPipeError:
            raise
        except OSError as error:
            named = f"{error.filename}: " if error.filename is not None else ""
            raise CommandError(f"{named}{error.strerror}." if error.strerror else str(error)) from error
        except (ValueError, TypeError) as error:
            if not _ours(error):
                raise
            raise CommandError(str(error)) from error
