"""Whose code, whose machine, whose key: what the author's side says about where a recording came from.

Only an author's commands come here. Nothing in this room runs git in a repository under review.
"""
