"""The command that keeps the log of runs: ``runs list``, ``runs add FILE…``, ``runs export --out FILE``.

What it needs is loaded when it is called.
"""

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import console
from core.errors import Problem, UnreadableFile, UnwritableFile
from core.words import Words, counted

if TYPE_CHECKING:
    from core.evidence.kept_runs import Entry
    from core.evidence.run import Run
    from core.evidence.run_log import RunLog

_ACTIONS = ("list", "add", "export")
_KINDS = (".jsonl", ".csv")
_SETTINGS = ("concurrency", "request_rate", "input_tokens", "output_tokens")
_COLUMNS = ("time_to_first_token", "time_per_output_token", "output_throughput", "decode_throughput")


def add_commands(commands: Any, words: Words) -> None:
    """Add the parser to those of the other commands."""
    about = words("cli.runs.about")
    one = commands.add_parser("runs", help=about, description=about)
    one.add_argument("action", choices=_ACTIONS, help=words("cli.runs.action"))
    one.add_argument("files", nargs="*", type=Path, metavar="FILE", help=words("cli.runs.files"))
    one.add_argument("--out", type=Path, metavar="FILE", help=words("cli.runs.out"))
    one.add_argument("--project", type=Path, metavar="FILE", help=words("cli.runs.project"))
    one.add_argument("--data-folder", type=Path, metavar="FOLDER", help=words("cli.runs.data_folder"))
    one.set_defaults(run=_runs)


def _runs(options: argparse.Namespace, words: Words) -> str:
    from core.evidence.run_log import DATABASE, RunLog, project_key
    from core.files.user_folders import data_folder

    log = RunLog((options.data_folder or data_folder()) / DATABASE)
    project = project_key(options.project)
    if options.action == "add":
        text = _add(log, project, options.files, words)
    elif options.action == "export":
        text = _export(log, project, options.out)
    else:
        text = _list(log, project, options.json, words)
    for note in log.notes:
        console.say(words.problem(note))
    return text


def _add(log: "RunLog", project: str, files: list[Path], words: Words) -> str:
    from core.evidence.readers.detect import read_files

    if not files:
        raise UnreadableFile(Problem("runs.no_files"))
    reading = read_files(files)
    if not reading.runs:
        raise UnreadableFile(*reading.problems)
    new = log.add(project, reading.runs)
    for problem in reading.problems:
        console.say(words.located(problem))
    known = len(reading.runs) - new
    told = [words.phrase(counted("cli.runs.added", new))]
    if known:
        told.append(words.phrase(counted("cli.runs.known", known)))
    return words.sentences(told) + "\n"


def _export(log: "RunLog", project: str, out: Path | None) -> str:
    from core.evidence.run_files import runs_csv, runs_jsonl
    from core.files.atomic import write_atomic

    if out is None or out.suffix.lower() not in _KINDS:
        raise UnwritableFile(Problem("runs.ending", values={"kinds": ", ".join(_KINDS)}))
    runs = log.runs(project)
    if not runs:
        raise UnwritableFile(Problem("runs.none"))  # a file that is there stays
    text = runs_csv(runs) if out.suffix.lower() == ".csv" else runs_jsonl(runs)
    # A spreadsheet takes a CSV without the mark for another encoding.
    data = text.encode("utf-8-sig" if out.suffix.lower() == ".csv" else "utf-8", "replace")
    write_atomic(out, data)
    return f"{out}\n"


def _list(log: "RunLog", project: str, as_json: bool, words: Words) -> str:
    from core.evidence.run_json import to_tree
    from core.reports.as_json import to_json
    from core.reports.as_text import table

    kept = log.entries(project)
    entries = [one for one in kept if one.id not in kept.damaged]
    if as_json:
        trees = [{"id": one.id, "added_at": one.added_at, **to_tree(one.run)} for one in entries]
        return to_json(trees)
    if not entries:
        return words("cli.runs.none") + "\n"
    heads = ("id", "added", "tool", "engine", "model", "device")
    head = [words(f"cli.runs.columns.{name}") for name in heads]
    head += [words(f"measured.settings.{name}") for name in _SETTINGS]
    head += [words(f"measured.figures.{name}") for name in _COLUMNS]
    rows = [_row(one, words) for one in entries]
    return "\n".join(table([head, *rows], (0, *range(len(heads), len(head))))) + "\n"


def _row(entry: "Entry", words: Words) -> list[str]:
    run = entry.run
    setting = run.setting
    engine = f"{setting.engine} {setting.engine_version}".strip()
    texts = [str(entry.id), entry.added_at, run.origin.tool, engine, setting.model, setting.accelerator]
    texts += [_stated(getattr(setting, name), words) for name in _SETTINGS]
    return texts + [_figure(run, name, words) for name in _COLUMNS]


def _stated(value: float | None, words: Words) -> str:
    if value is None:
        return ""
    return words("measured.values.at_once") if math.isinf(value) else f"{value:,.6g}"


def _figure(run: "Run", name: str, words: Words) -> str:
    from core.evidence.runs_told import shown_figure

    value = run.figure(name)
    return "" if value is None else shown_figure(name, value, words)
