"""Benchmarks of single parts, from inside: `make bench`. They print, and judge nothing.

Each module has `main()`, which prints what it measured beside its goal.
"""
