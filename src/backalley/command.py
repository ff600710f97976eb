"""Commands, of `backalley` and of modules that are run by themselves: every known error becomes its sentence, with exit
code 2; Ctrl-C ends with 130."""

from __future__ import annotations

import dis
from typing import Any

import click

from backalley.printable import one_line

EXTRAS = {"torch", "stable_baselines3", "sb3_contrib", "tensorboard", "yaml"}
"""Modules that come with `pip install 'backalley[train]'`."""
WRONG, INTERRUPTED = 2, 130
_LONGEST = 4000
"""Characters of a sentence that are shown, at most."""


class CommandError(click.ClickException):
    """What went wrong, in one line."""

    exit_code = WRONG

    def show(self, file: Any = None) -> None:
        """`Error: ...` on standard error, on one line: what somebody gave may be quoted in it."""
        shown = one_line(self.message)
        if len(shown) > _LONGEST:
            shown = f"{shown[: _LONGEST // 2]} ... {shown[-_LONGEST // 2 :]}"
        click.echo(f"Error: {shown}", err=True)


def _ours(error: BaseException) -> bool:
    """Whether an error was raised by a `raise` of this package's own code, and so has a sentence for a person; others
    are bugs and keep their trace."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    # By its package: a module that is run by itself is called `__main__`.
    if trace is None or str(trace.tb_frame.f_globals.get("__package__", "")).split(".")[0] != "backalley":
        return False
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


class Command(click.Command):
    """A command that turns every known error into its sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
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
        except (ValueError, TypeError, NotImplementedError) as error:
            if isinstance(error, UnicodeEncodeError) or "embedded null byte" in str(error):  # Python's own words
                raise CommandError("No file can have a name that was given: it holds what is no text.") from error
            if not _ours(error):
                raise
            raise CommandError(str(error)) from error


class Commands(Command, click.Group):
    """Several of them, in the order written."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of their file."""
        return list(self.commands)


def whole_numbers(ctx: click.Context, parameter: click.Parameter, given: str | None) -> tuple[int, ...] | None:
    """Numbers of 0 or more, with commas."""
    if given is None:
        return None
    try:
        found = tuple(int(part) for part in given.split(","))
        if min(found) < 0:
            raise ValueError
        return found
    except ValueError:
        raise click.BadParameter(f"{given!r} is not a list of whole numbers with commas.", ctx, parameter) from None
