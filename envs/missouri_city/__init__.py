"""Missouri City Backhand: two seats, one deck, one dealer hand."""
