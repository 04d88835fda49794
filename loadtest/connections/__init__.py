"""How seats reach a gateway: a port, and two ways through it."""
