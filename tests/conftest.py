"""Shared settings of the tests."""

import signal

import hypothesis

hypothesis.settings.register_profile(
    "default", deadline=None, print_blob=True, derandomize=True, max_examples=60
)
hypothesis.settings.load_profile("default")

# A test run that was started in the background ignores these signals, and its children would too.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler)
