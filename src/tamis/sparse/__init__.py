"""Summaries of sparse tables that are too large to write down: noise, filters, samples."""
