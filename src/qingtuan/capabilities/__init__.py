"""Tools as virtual memory: a few stand in every request, all others are paged in by a search (capabilities.md)."""
