"""Asking other agents (A2A): their cards, pinned from first use, and tasks that are gone on with."""
