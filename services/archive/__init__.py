"""What remains of a game: its records on disk, their proof, and the audit that replays them."""
