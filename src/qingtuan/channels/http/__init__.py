"""The server of an instance: what platforms and programs call."""
