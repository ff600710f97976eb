"""Hyperparameters: one YAML file for each game over the defaults; the list of phases of a run, and its budget.

Imports only benchmarks, agents and envs.
"""
