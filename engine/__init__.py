"""The game of Pit, pure: no clock, no chance, no I/O.

    decide(table, command, now_ms, chance) -> Decision     reads, never writes
    evolve(table, event)                                   the only code that changes a table
    view(event, viewer) -> event as that viewer may know it

See `engine/README.md` for the contract.
"""
