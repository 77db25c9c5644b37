"""Pages of Markdown that a person can read and edit: the only source of belief (memory.md, The wiki)."""
