"""Buffalo Bayou Backhand: one seat against three dealer show cards."""
