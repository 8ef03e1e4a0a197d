"""A window that is killed loses nothing; the long run is ``kill_runs.py --kills 1000``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = int(os.environ.get("INFEROMETER_KILLS", "0")) or 6


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is of other systems")
def test_killed_at_random_moments_nothing_is_lost() -> None:
    script = Path(__file__).with_name("kill_runs.py")
    line = [sys.executable, str(script), "--kills", str(KILLS), "--at-once", "2"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{KILLS} kills" in done.stdout
