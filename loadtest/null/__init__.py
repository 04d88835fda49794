"""A server that answers at once and keeps nothing: what the generator can do at most.

It speaks the public API well enough to be played at, deals and trades, and has no store, no
tokens worth the name, no rules beyond what its tables need. The tests make it lie.
"""
