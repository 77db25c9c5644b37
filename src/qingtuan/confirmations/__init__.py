"""Calls that wait for a yes or a no: the question, the book of open ones, and what counts as an answer."""
