"""Summaries of sparse tables as files: how they are made, what they say, what they answer."""
