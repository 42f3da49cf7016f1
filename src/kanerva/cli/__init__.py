"""The `kanerva` command: thin layers over the library."""
