"""Which request is this: its identity and key, the nearest recorded one, and how they differ."""
