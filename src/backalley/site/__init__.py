"""The page of tables without a server: `backalley site` writes files that any web host serves.

`building` writes them, from the games' exported WebAssembly and, by `javascript`, from the Python functions that draw a
table and say what happens at it; `runtime.js` is what these need, `tables.js` stands in for the server. It may import
everything but the command line.
"""
