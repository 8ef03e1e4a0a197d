"""Window and command line work with every way to the network forbidden."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("offline_run.py")


@pytest.mark.slow
def test_nothing_reaches_for_the_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(RUN), str(tmp_path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = done.stdout.splitlines()
    assert told[-1] == "OFFLINE"  # and nothing of the network is loaded
    counts = [int(line.rpartition(" ")[2]) for line in told if line.startswith(("commands: ", "files given"))]
    assert len(counts) == 2 and counts[0] >= 60 and counts[1] >= 100
    assert (tmp_path / "window.png").stat().st_size > 10_000


def test_what_a_browser_would_fetch_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(RUN.parent)
    import offline_run

    page = tmp_path / "page.html"
    page.write_text('<a href="https://x.org">x</a><p>src=&quot;</p><img src="data:image/png;base64,x">')
    assert offline_run.fetching(tmp_path) == []
    page.write_text("<link href='//x.org/a.css'><img src=http://x.org><style>a{background:url(b)}</style>")
    assert len(offline_run.fetching(tmp_path)) == 3


def test_the_hook_would_notice(tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(RUN.parent)!r})\nimport offline_run, socket\n"
    code += "sys.addaudithook(offline_run.forbid)\nsocket.socket()\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "socket.__new__ is not allowed" in done.stderr
