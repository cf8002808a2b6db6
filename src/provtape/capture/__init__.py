"""How calls reach the session: the enclosure, the servers, the hooks."""
