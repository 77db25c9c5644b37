"""The embedded default: a small language model on the CPU, in a child process, for when no key is set.

It is a `ChatModel` like any other. What it is too small for is done around it by code: its prompt is short, its
answer is always held to a JSON schema, days are resolved, and a reply that claims an act is checked.
"""
