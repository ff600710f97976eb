"""Programs and servers of language models that do something wrong, as data, and what becomes of who plays with them.

`run_faults` seats them at tables of Kuhn poker, side by side, and says of each whether it was answered in time and in a
sentence.
"""

from .run import Outcome, drawn, run_faults, try_fault
from .table import FAULTS, Fault

__all__ = ["FAULTS", "Fault", "Outcome", "drawn", "run_faults", "try_fault"]
