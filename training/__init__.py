"""Learning algorithms: runs of phases such as self-play by PPO over the batched engine."""
