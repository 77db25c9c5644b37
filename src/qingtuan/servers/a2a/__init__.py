"""Being asked by other agents (A2A): a card that says what can be asked, and tasks."""
