"""`pit load`: what was asked for, settled; the exchange it runs on; its course."""
