"""Memory from elsewhere: read, shown, and written only as it was shown.

What other programs kept is foreign material (product.md, axiom 6). A line of it becomes an entry by one thing alone:
the person, at the terminal of the owner, was shown that very line and said yes to it. So nothing here decides by
itself: `formats` reads a source into what was `found`, `folding` says what that would change, and `importing` writes
exactly that, in one write. Prose stays what it is, a note of origin `file`.
"""
