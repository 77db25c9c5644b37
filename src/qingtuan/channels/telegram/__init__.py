"""Telegram, through NoneBot's adapter and a bot of BotFather's."""
