"""Window and command line work with every way to the network forbidden."""

import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("offline_run.py")


def test_nothing_reaches_for_the_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(RUN), str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "OFFLINE"  # and nothing of the network is loaded


def test_the_hook_would_notice(tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(RUN.parent)!r})\nimport offline_run, socket\n"
    code += "sys.addaudithook(offline_run.forbid)\nsocket.socket()\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "socket.__new__ is not allowed" in done.stderr
