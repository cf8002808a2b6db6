"""The tour: a real model, recorded, signed, verified, replayed and attacked, with the commands that a person would type."""
