"""The figures of the paper, drawn from saved results. No model is imported here."""
