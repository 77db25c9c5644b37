"""The ways in and out: each turns what its platform delivers into messages, and sends messages by its means."""
