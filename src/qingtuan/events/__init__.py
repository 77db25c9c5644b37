"""What happened: the append-only log and the projections that are written with it."""
