"""Comparisons of several runs: training methods, seeds, throughput.

The last room of training: it may import all the others.
"""
