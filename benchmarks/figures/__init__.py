"""Statistics of results and how they are shown: intervals, tables, charts; one class for each kind of result, and how
its file is read and written.

Imports only agents and envs.
"""
