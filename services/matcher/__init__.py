"""The matcher: owns shards by lease and is the only writer of their event streams.

| module | what it knows |
|---|---|
| `main` | the process: settings, signals, logs, the loop's start and end |
| `matcher` | the loop: one exchange with the log, then one turn of every shard |
| `turn` | one turn of one shard: timers, lost gateways, commands; `decide`, `evolve`, commit |
| `shard` | what an owner holds of a shard in memory |
| `recovery` | from a fresh lease to that memory: snapshot, then `evolve` over the log |
| `settling` | what an unclear commit was, found out by acquiring again |
| `ownership` | taking shards, renewing, snapshots, giving up |
| `sharing` | which shards are this matcher's, among several |
| `clock`, `timers`, `presence`, `lobby`, `linger`, `limits`, `crash` | one small thing each |
"""
