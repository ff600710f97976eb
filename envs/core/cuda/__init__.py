"""The same rules on a GPU: kernels turned into CUDA device functions, a table for each thread, arrays that stay there.

Imported where a batch is asked for by `device="cuda"`; nothing else imports numba-cuda. It was compiled, and simulated
on a CPU, and never run on a device.
"""
