"""The load tester: a black box that knows only the public API (and, beside it, benchmarks)."""
