"""Twenty-One with Back Passing."""
