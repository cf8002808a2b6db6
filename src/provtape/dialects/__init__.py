"""What a provider's bytes say (pure)."""
