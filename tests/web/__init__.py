"""Tables in a browser, by a server and as files."""
