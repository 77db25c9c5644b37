"""The generated part of `docs/reference`: one module for each page, each written twice from one function, in Chinese
and in English.

All that a page says of a setting, command, tool or event is taken from where that is declared; what stands here is only
what holds for a page as a whole. It is a development tool, so it lies outside of the package.
"""
