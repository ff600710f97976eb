"""Reading and writing files: durable writes, one reader, playthroughs, generated tables and typed modules.

The last room of the core: it may import all the others.
"""
