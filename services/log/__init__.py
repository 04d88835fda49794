"""The stream protocol: how commands reach a shard's one owner and events leave it, durably."""
