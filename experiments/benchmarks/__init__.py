"""Searches, tools and judges, measured: studies, suites, the clinic, the corpus, the evidence."""
