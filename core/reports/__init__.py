"""An estimate in forms that leave the program."""
