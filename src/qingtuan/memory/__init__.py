"""What is believed: the wiki of Markdown pages, and the logic of what enters it, changes in it and leaves it."""
