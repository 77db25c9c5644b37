"""Commands: one registry for dispatch, help, permission and completion in every channel."""
