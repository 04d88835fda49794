"""The matcher: owns shards by lease and is the only writer of their event streams."""
