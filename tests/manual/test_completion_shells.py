"""What zsh and fish offer while a command is typed, asked of the shells; bash: test_commands.py."""

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = "scenario one.json"
TYPED = [
    ("inferometer est", {"estimate"}),
    ("inferometer re", {"read", "recommend", "report"}),
    ("inferometer simulate --d", {"--duration"}),
    ("inferometer simulate scenario --s", {"--seed"}),
    ("inferometer estimate --lang z", {"zh_CN"}),
    ("inferometer estimate scen", {FILE}),
    ("inferometer estimate --json scen", {FILE}),
    ("inferometer runs e", {"export"}),
    ("inferometer completion ", {"bash", "zsh", "fish"}),
    ("inferometer screenshot x --theme d", {"dark"}),
    ("inferometer --th", {"--theme"}),
    ("inferometer --theme s", {"system"}),
]
# Completes however fast is typed; writes down what zsh is given to offer, and goes on as before.
_NOTED = """
zstyle ':completion:*' insert-tab false
zle-line-init() { print -n '<EDIT>' }
zle -N zle-line-init
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
    local -a offered
    builtin compadd -O offered "$@"
    (( $#offered )) && print -rl -- ${(Q)offered} >> $OFFERED
    builtin compadd "$@"
}
"""


def completion_script(shell: str, folder: Path) -> Path:
    """The program's script for a shell, as a file."""
    line = [sys.executable, "-m", "gui.main", "completion", shell]
    made = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    file = folder / f"complete.{shell}"
    file.write_text(made.stdout, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shells")
    (folder / FILE).touch()
    return folder


@pytest.fixture(scope="module")
def fish(place: Path) -> Path:
    return completion_script("fish", place)


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_fish_offers(typed: str, offered: set[str], fish: Path) -> None:
    asked = f"source {fish}; complete -C '{typed}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked],
        cwd=fish.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert {line.partition("\t")[0] for line in done.stdout.splitlines()} == offered
    assert done.stderr == ""


class Zsh:
    """An interactive zsh at a terminal that a program reads."""

    def __init__(self, folder: Path, script: Path) -> None:
        import pty

        self._offered = folder / "offered"
        rc = f"PROMPT=\nautoload -U compinit\ncompinit -u -D\nsource {script}\n{_NOTED}\n"
        (folder / ".zshrc").write_text(rc, encoding="utf-8")
        kept = {"HOME": str(folder), "ZDOTDIR": str(folder), "OFFERED": str(self._offered)}
        environ = {**kept, "PATH": os.environ["PATH"], "TERM": "dumb", "LANG": "C.UTF-8"}
        self._end, other = pty.openpty()
        self._process = subprocess.Popen(
            ["zsh", "-i"],
            stdin=other,
            stdout=other,
            stderr=other,
            cwd=folder,
            env=environ,
            start_new_session=True,
        )
        os.close(other)
        self._said = b""

    def _wait_for(self, word: bytes) -> None:
        end = time.monotonic() + 60
        while word not in self._said:
            assert time.monotonic() < end, self._said
            if select.select([self._end], [], [], 0.2)[0]:
                self._said += os.read(self._end, 4096)
        self._said = self._said.partition(word)[2]

    def offers(self, typed: str) -> set[str]:
        """What it is given to offer after a key press of the tabulator."""
        self._wait_for(b"<EDIT>")
        self._offered.write_text("", encoding="utf-8")
        os.write(self._end, typed.encode() + b"\t")
        os.write(self._end, b'\x15print DO""NE\n')  # the line is thrown away and another one run
        self._wait_for(b"DONE")
        return set(self._offered.read_text(encoding="utf-8").splitlines())

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        os.close(self._end)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_zsh_offers(place: Path) -> None:
    zsh = Zsh(place, completion_script("zsh", place))
    try:
        found = {typed: zsh.offers(typed) for typed, _ in TYPED}
    finally:
        zsh.close()
    assert found == dict(TYPED)
