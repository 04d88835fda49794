"""The front door: sessions and methods of the public API over the log."""
