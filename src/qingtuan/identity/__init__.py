"""Who speaks and what may be seen, decided from account ids before any prompt exists."""
