"""How learned agents come to be: in phases, such as self-play by `sb3_contrib.MaskablePPO` over the batched engine."""
