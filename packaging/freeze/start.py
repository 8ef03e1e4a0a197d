"""Entry of the frozen program."""

import sys

from gui.main import main

sys.exit(main())
