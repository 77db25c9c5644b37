"""The one way out to every address that is not from the settings."""
