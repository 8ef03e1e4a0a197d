"""``python -m core`` is the command line without a window."""

import sys

from core.cli import main

sys.exit(main(sys.argv[1:]))
