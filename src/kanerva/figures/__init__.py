"""Figures of the paper, drawn from saved results alone: no model is imported here."""
