"""Records as Parquet, by pyarrow (the extra `parquet`); the head is JSON in the file's metadata under `backalley`."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from backalley.console.errors import InvalidValue, NotInstalled, one_line
from backalley.envs.core.files.reading import check_values, json_of, open_file

from .columns import COLUMNS, Head, Row

ROWS = 8192
"""Rows of a group: what is held in memory, and read at once."""
_HEAD = b"backalley"


def _pyarrow() -> Any:
    """The package, with its module for Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise NotInstalled(
            "Parquet files need the package pyarrow: pip install 'backalley[parquet]'. JSON lines need nothing."
        ) from error
    return pyarrow


def write_parquet(file: IO[bytes], head: Head, rows: Iterator[Row]) -> int:
    """Write the head and the rows, a group at a time; return the number of rows. Raises NotInstalled."""
    arrow = _pyarrow()
    kinds = {"int": arrow.int64(), "float": arrow.float64(), "text": arrow.string()}
    fields = [(name, _kind(arrow, kinds, COLUMNS[name].kind)) for name in head.columns]
    schema = arrow.schema(fields, metadata={_HEAD: json.dumps(head.to_json()).encode()})
    number = 0
    with arrow.parquet.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        while group := list(itertools.islice(rows, ROWS)):
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))
            number += len(group)
    return number


def _kind(arrow: Any, kinds: dict[str, Any], kind: str) -> Any:
    inner = kind.removeprefix("list of ")
    return kinds[kind] if inner == kind else arrow.list_(kinds[inner])


def read_parquet(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield what the file's metadata says first, and then each row; each with its place in words. Raises ValueError in
    a clause for what is no Parquet file of a record, NotInstalled, OSError."""
    arrow = _pyarrow()
    opened = open_file(path)
    try:
        with opened, arrow.parquet.ParquetFile(opened, page_checksum_verification=True) as file:
            said = (file.schema_arrow.metadata or {}).get(_HEAD)
            if said is None:
                raise InvalidValue("its metadata has no record of this package")
            yield "the head", json_of(said)
            number = 0
            for batch in file.iter_batches(ROWS):
                batch.validate(full=True)  # offsets beyond the data would be read
                for row in batch.to_pylist():
                    number += 1
                    check_values(row)
                    yield f"row {number:,}", row
    except (arrow.ArrowException, OSError, MemoryError, OverflowError, UnicodeDecodeError) as error:
        said = one_line(" ".join(str(error).split()))[:200]
        raise InvalidValue(f"it is no whole Parquet file: {said or type(error).__name__}") from None
