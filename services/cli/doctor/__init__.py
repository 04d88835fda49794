"""`pit doctor`: is this store fit, and is everything that should work on it at work?"""
