"""`LobbyService`: finding a table and sitting down."""
