"""Commands of `backalley`: every error of ours is printed as its message, with exit code 2; Ctrl-C ends with 130."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from backalley.console import start
from backalley.console.errors import BackAlleyError, did_you_mean, one_line

EXTRAS = {"torch", "stable_baselines3", "sb3_contrib", "tensorboard", "yaml"}
"""Modules that come with `pip install 'backalley[train]'`."""
WRONG, INTERRUPTED = 2, 130
_LONGEST = 4000
"""The greatest number of characters of a message that are shown."""


class CommandError(click.ClickException):
    """An error, in one line."""

    exit_code = WRONG

    def show(self, file: Any = None) -> None:
        """Print `Error: ...` on standard error, on one line: the message may quote what a user gave."""
        shown = one_line(self.message)
        if len(shown) > _LONGEST:
            shown = f"{shown[: _LONGEST // 2]} ... {shown[-_LONGEST // 2 :]}"
        click.echo(f"Error: {shown}", err=True)


class Command(click.Command):
    """A command that prints every error of ours as its message; other errors are bugs and keep their trace."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            click.echo("\nStopped by Ctrl-C.", err=True)
            ctx.exit(INTERRUPTED)
        except BackAlleyError as error:
            raise CommandError(str(error)) from error
        except ModuleNotFoundError as error:
            missing = (error.name or "").split(".")[0]
            if missing not in EXTRAS:
                raise
            raise CommandError(
                f"This needs {missing}, which is not installed: pip install 'backalley[train]'"
            ) from error
        except MemoryError as error:
            raise CommandError(
                "This does not fit into memory; ask for fewer tables, deals or determinizations."
            ) from error
        except BrokenPipeError:
            raise
        except OSError as error:
            named = f"{error.filename}: " if error.filename is not None else ""
            raise CommandError(f"{named}{error.strerror}." if error.strerror else str(error)) from error
        except ValueError as error:
            # Python's own words for a name that the system cannot take.
            if not isinstance(error, UnicodeEncodeError) and "embedded null byte" not in str(error):
                raise
            raise CommandError("No file can have a name that was given: it holds what is no text.") from error


class Program(Command, click.Group):
    """Several commands, in the order written; for a wrong name, the error suggests the nearest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of their file."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; from now on Ctrl-C raises KeyboardInterrupt."""
        start.allow_interrupts()
        return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was typed. Raises CommandError for a wrong name."""
        typed = args[0]  # which click takes out of the list
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            meant = did_you_mean(typed, self.commands) or f" There are: {', '.join(self.commands)}."
            raise CommandError(f"There is no command {typed!r}.{meant}") from None


def pairs(form: str = "NAME=VALUE") -> Callable[[click.Context, click.Parameter, Sequence[str]], dict[str, str]]:
    """Return the callback of an option, or of an argument, that has that form and may be repeated: values by name."""

    def read(ctx: click.Context, parameter: click.Parameter, given: Sequence[str]) -> dict[str, str]:
        found = {}
        for item in given:
            name, sign, value = item.partition("=")
            if not sign or not name.strip():
                raise click.BadParameter(f"{item!r} is not of the form {form}.", ctx, parameter)
            found[name.strip()] = value.strip()
        return found

    return read


def whole_numbers(ctx: click.Context, parameter: click.Parameter, given: str | None) -> tuple[int, ...] | None:
    """Read numbers of 0 or more, with commas."""
    if given is None:
        return None
    try:
        found = tuple(int(part) for part in given.split(","))
        if min(found) < 0:
            raise ValueError
        return found
    except ValueError:
        raise click.BadParameter(f"{given!r} is not a list of whole numbers with commas.", ctx, parameter) from None
