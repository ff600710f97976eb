"""A game's rules and players as files that need no Python: a shared library or an object file with a C header, or
WebAssembly.

It imports the games, agents, and what compiled players are written with; nothing of training or the command line.
"""

TARGETS = {
    "native": "a shared library for this machine's processor, which a C compiler here links",
    "c": "an object file that any C linker takes, for this machine or another (--triple)",
    "wasm": "a WebAssembly module without imports, for browsers and Node.js",
}
"""The targets, and what each writes beside the header, the layout and the licence."""
