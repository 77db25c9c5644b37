"""Anything the model can call: what a tool is, which there are, and running one."""
