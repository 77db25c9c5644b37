"""Persona cards: how the assistant sounds. A card holds no facts about people and widens nothing."""
