"""Statistics of deals that somebody looks at as they come: intervals that hold at every number of deals at once, the
test that gates of training end by. It may import `figures`."""
