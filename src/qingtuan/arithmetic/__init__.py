"""Arithmetic as people write it, exact wherever it can be."""
