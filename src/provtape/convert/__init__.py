"""Other people's formats, one module each."""
