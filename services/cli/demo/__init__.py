"""`pit demo`: the whole exchange as child processes, watched and checked from the log."""
