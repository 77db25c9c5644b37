"""A model request as a pure function of a session's events, the wiki and the settings (product.md, axiom 4)."""
