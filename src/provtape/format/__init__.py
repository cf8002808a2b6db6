"""What the bytes of `provtape/1` mean: pure functions and values, no file, no clock, no randomness."""
