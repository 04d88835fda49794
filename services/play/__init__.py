"""A person at a table, in a terminal: `pit play`. A program on the public API like any other."""
