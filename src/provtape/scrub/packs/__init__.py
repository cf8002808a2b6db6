"""The rule packs that come with provtape, as data."""
