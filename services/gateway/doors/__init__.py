"""Doors: how the public API is reached. Thin; what they share is behind them."""
