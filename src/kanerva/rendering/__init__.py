"""Images as pictures and as JSON. It needs NumPy and Pillow, and knows nothing of models."""
