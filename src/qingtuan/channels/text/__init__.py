"""What a message looks like in a chat app: one Markdown model, and for each platform the parts that it can show."""
