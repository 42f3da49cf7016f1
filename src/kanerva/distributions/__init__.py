"""The distributions that the models use, as closed forms."""
