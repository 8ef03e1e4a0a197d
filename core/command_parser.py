"""Arguments of a command: what is said of them has been written, or it has failed."""

import argparse
import sys
from typing import IO, Any


class CommandParser(argparse.ArgumentParser):
    """Help and version end with status 1 where the output takes no more; argparse itself keeps silent."""

    def _print_message(self, message: str, file: IO[str] | Any | None = None) -> None:
        from core import console

        if file is not None and file is sys.stdout:
            if console.write(message):
                sys.exit(1)
        else:
            super()._print_message(message, file)
