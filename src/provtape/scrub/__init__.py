"""What may be written: rules, and the one door that everything passes on its way to a file."""
