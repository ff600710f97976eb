"""How learned agents come to be: `sb3_contrib.MaskablePPO` over the batched engine, every seat learning."""
