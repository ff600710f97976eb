"""Learning algorithms: runs of phases such as self-play by `sb3_contrib.MaskablePPO` over the batched engine."""
