"""`pit backup` and `pit restore`: the store and its archive in one file, and back again."""
