"""Files of settings as text: YAML that neither runs code nor takes minutes to read."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import DEPTH, YAML_BYTES, file_text

_NUMBERS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}


def load_yaml(path: Path) -> Any:
    """Return what a YAML file holds. Raises OSError, or ValueError with the reason in one line."""
    import yaml  # part of the extra `train`; the declarations of settings work without it

    try:
        text = file_text(path, YAML_BYTES)
        if _open_brackets(text) > DEPTH:  # PyYAML alone would take minutes to find that out
            raise InvalidValue(f"it is nested more than {DEPTH} deep")
        return yaml.load(text, _plain_yaml())
    except (ValueError, TypeError, AttributeError, yaml.YAMLError, RecursionError) as error:
        # PyYAML lets Python's own errors through for invalid numbers and dates.
        raise InvalidValue(" ".join(str(error).split())) from None


def as_yaml(settings: Mapping[str, Any], head: str) -> bytes:
    """Return plain names and values as a file that `load_yaml` reads, under a comment line."""
    import yaml

    return f"# {head}\n{yaml.safe_dump(dict(settings), sort_keys=False)}".encode()


def _open_brackets(text: str) -> int:
    """The greatest number of brackets open at once; those in comments and strings count too."""
    steps = (1 if sign in "[{" else -1 for sign in text if sign in "[]{}")
    return max(itertools.accumulate(steps), default=0)


@functools.cache
def _plain_yaml() -> type[Any]:
    """PyYAML's safe loader without aliases, with which a few lines can make gigabytes, and with a limit on the
    depth."""
    import yaml

    class Plain(yaml.SafeLoader):
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it refers to a part of itself (*NAME); write that part out")
            self.depth += 1
            if self.depth > DEPTH:
                raise yaml.YAMLError(f"it is nested more than {DEPTH} deep")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            names = [one.value for one, _ in node.value if isinstance(one, yaml.ScalarNode)]
            if twice := [name for number, name in enumerate(names) if name in names[:number]]:
                raise yaml.YAMLError(f"it names {twice[0]} twice, and only the second would count; write it once")
            return super().construct_mapping(node, deep)

        def construct_scalar(self, node: Any) -> Any:
            if node.tag in _NUMBERS and ":" in node.value:
                raise yaml.YAMLError(f"{node.value} is a number to the base of 60 in YAML; write it as one number")
            return super().construct_scalar(node)

    return Plain
