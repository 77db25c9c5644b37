"""Backups of a data folder: taken while it is in use, looked over before they count, and put in its place again."""
