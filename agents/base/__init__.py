"""The interface of an agent, and the simplest agents: rule-based bots and the random agent.

Imports only envs and the console.
"""
