"""`python -m backalley`: the command line."""

from backalley.cli import main

main(prog_name="backalley")
