"""Studies: the measurements behind the project's pages, and the programs that write those pages. `backalley dev study`
runs them; each file declares its own command. Only a checkout has them: the wheel leaves this folder out.

Imports everything; nothing else imports it but the command line, late, and tests.
"""
