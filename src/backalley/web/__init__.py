"""The table in a browser: `backalley serve`, one page, and all that it asks for. It needs the extra `web`.

`table` is one game that people and agents play, `table_server` all tables of a server and who may do what there, `app`
the requests and answers, `server` the process. It may import everything but the command line.
"""
