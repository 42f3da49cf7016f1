"""`python -m kanerva`: the same as the `kanerva` command; `torchrun -m kanerva` needs it."""

from kanerva.cli.main import main

main()
