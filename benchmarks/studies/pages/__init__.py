"""What writes the project's pages: every table, output and picture, and the model cards. It may import everything but
the commands."""
