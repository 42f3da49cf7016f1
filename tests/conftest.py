"""Shared settings of the tests."""

import hypothesis

hypothesis.settings.register_profile(
    "default", deadline=None, print_blob=True, derandomize=True, max_examples=60
)
hypothesis.settings.load_profile("default")
