"""小青团 Qingtuan: a personal task agent with a memory that a person can read, edit and roll back."""

__version__ = "0.1.0"
