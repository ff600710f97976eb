"""Hyperparameters: one YAML file for each game over the defaults, and the list of phases of a run.

Imports only benchmarks, agents and envs.
"""
