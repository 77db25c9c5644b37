"""Finding texts again: terms, vectors and keys over entries that carry a scope and an opaque label."""
