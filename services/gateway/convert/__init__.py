"""Between the engine's values and the public messages. Pure; nothing here knows a connection."""
