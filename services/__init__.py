"""Everything that talks: the log, matcher, gateway, archive, bots, client and the command line."""
