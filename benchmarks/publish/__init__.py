"""Measure results for the pages, and write pages, charts and reports.

The last room of benchmarks: it may import all the others.
"""
