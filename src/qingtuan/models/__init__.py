"""Talking to language models: the wire, what each provider needs, which model a turn gets, what it costs."""
