"""Start the frozen program as a user would, and compare it with the source tree.

It must paint its window (offscreen) and print READY, its estimate of every sample must equal the source
tree's byte for byte, and each command and workspace must work: a module that was left out is missed only
there.  Runs from a foreign folder, with nothing of this environment.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "inferometer.exe" if os.name == "nt" else "inferometer"
BINARY = ROOT / "build" / "frozen" / "inferometer" / NAME
SAMPLES = sorted((ROOT / "resources" / "samples").glob("*.json"))
FIXTURES = ROOT / "tests" / "evidence_readers" / "fixtures"
WORKSPACES = ("estimate", "compare", "explore", "recommend", "simulate", "validate")
PATIENCE_S = 120


def bare_environ(home: str) -> dict[str, str]:
    """A user's environment: no variable of Python, Qt settings only for the missing screen."""
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP")
    environ = {key: os.environ[key] for key in kept if key in os.environ}
    return {
        **environ,
        "HOME": home,
        "LANG": "C.UTF-8",
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_RUNTIME_DIR": home,
    }


def run(command: list[str], folder: str, environ: dict[str, str], silent: bool = True) -> bytes:
    """Output of a command that must succeed in time and, if ``silent``, say nothing on the error stream."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=environ, capture_output=True, check=False, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired as error:
        sys.stdout.write((error.stderr or b"").decode(errors="replace"))
        raise SystemExit(f"   {' '.join(command)}: not done after {PATIENCE_S} s") from None
    if done.returncode or (silent and done.stderr.strip()):
        sys.stdout.write(done.stderr.decode(errors="replace"))
        raise SystemExit(f"   {' '.join(command)}: status {done.returncode}")
    return done.stdout


def commands() -> list[list[str]]:
    """Command lines that reach every room of the program."""
    scenario, measured = str(SAMPLES[0]), str(FIXTURES / "vllm_serve_2026.json")
    pictures = [
        ["screenshot", scenario, "--out", f"{name}.png", "--workspace", name, "--lang", "zh_CN"]
        for name in WORKSPACES
    ]
    reports = [
        ["report", scenario, "--out", f"report.{kind}"] for kind in ("html", "pdf", "md", "xlsx", "csv")
    ]
    return [
        *pictures,
        *reports,
        ["models", "qwen3", "32b"],
        ["accelerators", "h100"],
        ["launch", scenario],
        ["simulate", scenario, "--duration", "60"],
        ["recommend", scenario, "--json"],
        ["read", measured],
        ["runs", "add", measured],
        ["runs", "list"],
        ["validate", measured, "--scenario", scenario],
        ["diagnose", scenario, "--ttft", "9000"],
        ["completion", "bash"],
    ]


def main() -> int:
    """The checks, in the order of what a user would notice first."""
    with tempfile.TemporaryDirectory() as folder:
        environ = bare_environ(folder)
        said = run([str(BINARY), "--smoke", str(SAMPLES[0])], folder, environ)
        if b"READY" not in said.split():
            raise SystemExit(f"   the window did not report READY, but {said[:200]!r}")
        print("   window painted: READY")
        for sample in SAMPLES:
            arguments = ["estimate", str(sample), "--json"]
            frozen = run([str(BINARY), *arguments], folder, environ)
            source = run([sys.executable, "-m", "core", *arguments], str(ROOT), dict(os.environ))
            if frozen != source or not frozen:
                raise SystemExit(
                    f"   {sample.name}: the frozen program's JSON differs from the source tree's"
                )
        print(f"   estimates of {len(SAMPLES)} samples equal the source tree's")
        for arguments in commands():
            run([str(BINARY), *arguments], folder, environ, silent=False)  # what a run lacks is told there
        print(f"   {len(commands())} commands and pictures done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
