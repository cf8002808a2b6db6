"""HTTP/1.1 bytes and the members of an `http` interaction, both ways (pure)."""
