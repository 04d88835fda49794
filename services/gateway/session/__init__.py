"""One seat's stream, without transport and without tasks.

A door calls `session.receive(message)` and `session.writable()`; the session calls
`door.send(bytes)` and `door.end(refused)`. All else comes from the table's feed.
"""
