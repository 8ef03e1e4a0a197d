"""The command line without a window: arguments in, the core called, words out.

Exit status: 0 done, 2 bad input (one sentence a problem on the error stream; ``read`` prints what it could
read all the same and lists the rest below it), 1 when what was asked for
cannot be written, or something went wrong inside.
"""

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from core import console
from core.catalog.accelerators import accelerator_problems, search_accelerators
from core.catalog.calibrations import use_folders
from core.catalog.entries import use_own
from core.catalog.models import CatalogModel, load_model, model_problems, search_models
from core.cli_calibration import add_commands as add_calibration_commands
from core.cli_calibration import of_records, validate_runs
from core.cli_evidence import add_commands as add_evidence_commands
from core.cli_runs import add_commands as add_run_commands
from core.cli_serving import add_commands
from core.command_parser import CommandParser
from core.errors import InferometerError, NotFound, Problem, UnreadableFile
from core.estimator import estimate
from core.evidence.page import accuracy_page
from core.evidence.report import validation_json, validation_text
from core.evidence.validate import lines_of, predictions_of
from core.files.atomic import write_atomic
from core.files.opening import open_document
from core.files.user_folders import calibrations_folder, catalogue_folder
from core.importers.command_text import command_for
from core.reports.as_json import estimate_json, to_json
from core.reports.as_text import estimate_text, table
from core.spec.formats import WEIGHT_FORMATS
from core.strict_json import shortened
from core.units import show_count, show_tokens, three_digits
from core.version import VERSION
from core.words import LANGUAGES, Words


def main(argv: Sequence[str]) -> int:
    """Run one of ``console.COMMANDS`` with its arguments and return the exit status."""
    words = Words(console.language_of(argv))
    try:
        return _main(argv, words)
    except Exception as fault:  # noqa: BLE001 - a person gets a sentence, the log the rest
        return console.tell_fault(fault, words)


def _main(argv: Sequence[str], words: Words) -> int:
    try:
        options = parser(words).parse_args(argv)
    except SystemExit as leaving:  # argparse has said why
        return int(leaving.code or 0) or console.flush()
    use_folders(calibrations_folder())
    use_own(catalogue_folder())
    run: Callable[[argparse.Namespace, Words], str] = options.run
    try:
        text = run(options, words)
    except InferometerError as error:
        console.complain(error, words, getattr(options, "file", None))
        return 2
    return console.write(text) or int(getattr(options, "status", 0))


def parser(words: Words) -> argparse.ArgumentParser:
    """The parser of all commands of the core, in the person's language."""
    top = CommandParser(prog=console.PROGRAM, description=words("cli.about"), words=words)
    version = f"{console.PROGRAM} {VERSION}"
    top.add_argument("--version", action="version", version=version, help=words("arguments.version"))
    commands = top.add_subparsers(dest="command", required=True, metavar=words("cli.command"))
    one = commands.add_parser("estimate", help=words("cli.estimate"), description=words("cli.estimate"))
    one.add_argument("file", type=Path, metavar="FILE", help=words("cli.file"))
    one.set_defaults(run=_estimate)
    one = commands.add_parser("launch", help=words("cli.launch"), description=words("cli.launch"))
    one.add_argument("file", type=Path, metavar="FILE", help=words("cli.file"))
    one.set_defaults(run=_launch)
    for name, run in (("models", _models), ("accelerators", _accelerators)):
        one = commands.add_parser(name, help=words(f"cli.{name}"), description=words(f"cli.{name}"))
        one.add_argument("query", nargs="*", metavar="QUERY", help=words(f"cli.query_{name}"))
        one.set_defaults(run=run)
    about = words("cli.validate.about")
    one = commands.add_parser("validate", help=about, description=about)
    one.add_argument("files", nargs="+", type=Path, metavar="FILE", help=words("cli.validate.files"))
    one.add_argument("--out", type=Path, metavar="FILE", help=words("cli.validate.out"))
    one.add_argument("--page", type=Path, metavar="FILE.md", help=words("cli.validate.page"))
    one.add_argument("--scenario", type=Path, metavar="FILE", help=words("cli.validate.scenario"))
    one.set_defaults(run=_validate)
    about = words("cli.report.about")
    one = commands.add_parser("report", help=about, description=about)
    one.add_argument("file", type=Path, metavar="FILE", help=words("cli.file"))
    one.add_argument("--out", type=Path, required=True, metavar="FILE", help=words("cli.report.out"))
    one.set_defaults(run=_report)
    add_evidence_commands(commands, words)
    add_calibration_commands(commands, words)
    add_run_commands(commands, words)
    add_commands(commands, words)
    for one in commands.choices.values():
        one.add_argument("--json", action="store_true", help=words("cli.json"))
        one.add_argument("--lang", choices=LANGUAGES, default="en", help=words("cli.lang"))
    return top


def commands_of(words: Words) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    found = [a for a in parser(words)._actions if isinstance(a, argparse._SubParsersAction)]  # noqa: SLF001
    return dict(found[0].choices)


def _estimate(options: argparse.Namespace, words: Words) -> str:
    scenario, notes = open_document(options.file)
    result = estimate(scenario)
    if options.json:
        return estimate_json(result, words)
    said = "".join(f"{words.problem(note)}\n" for note in notes)
    return f"{said}\n{estimate_text(result, words)}" if said else estimate_text(result, words)


def _launch(options: argparse.Namespace, _words: Words) -> str:
    command = command_for(open_document(options.file).scenario)
    return to_json({"command": command}) if options.json else f"{command}\n"


def _report(options: argparse.Namespace, words: Words) -> str:
    from core.reports.write import report_bytes

    scenario, _ = open_document(options.file)
    write_atomic(options.out, report_bytes(estimate(scenario), options.out, words))
    return f"{options.out}\n"


def _validate(options: argparse.Namespace, words: Words) -> str:
    if options.page is None and options.out is None and not of_records(options.files):
        return validate_runs(options, words)
    predictions = predictions_of(options.files)
    if not predictions and (options.out is not None or options.page is not None):
        raise UnreadableFile(Problem("evidence.no_records"))  # a file that is there stays
    if options.out is not None:
        write_atomic(options.out, lines_of(predictions).encode("utf-8"))
    if options.page is not None:
        write_atomic(options.page, accuracy_page(predictions, words).encode("utf-8"))
    return validation_json(predictions) if options.json else validation_text(predictions, words)


def _models(options: argparse.Namespace, words: Words) -> str:
    query = " ".join(options.query)
    found = [_sized(model) for model in search_models(query)]
    _complain_of_own(model_problems(), words)
    if options.json:
        return to_json([dataclasses.asdict(model) for model in found])
    head = [words(f"cli.{key}") for key in ("model", "parameters", "context", "weights", "id")]
    rows = [
        [
            m.name,
            _billions(m.parameters, m.active_parameters),
            show_tokens(m.max_context),
            _format(m.published_weight_format),
            m.id,
        ]
        for m in found
    ]
    return _listing(head, rows, query, right=(1, 2))


def _accelerators(options: argparse.Namespace, words: Words) -> str:
    query = " ".join(options.query)
    found = search_accelerators(query)
    _complain_of_own(accelerator_problems(), words)
    if options.json:
        return to_json([device.model_dump(mode="json") for device in found])
    head = [words(f"cli.{key}") for key in ("accelerator", "memory", "bandwidth", "compute", "year")]
    rows = [
        [
            device.name,
            f"{device.memory_gb_nominal:g} GB",
            f"{show_count(device.memory_bandwidth_gbps)} GB/s",
            _tflops(device.peak_tflops.bf16 or device.peak_tflops.fp16),
            str(device.year or ""),
        ]
        for device in found
    ]
    return _listing(head, rows, query, right=(1, 2, 3))


def _complain_of_own(problems: Sequence[Problem], words: Words) -> None:
    """Which of the user's own entries are not among those listed, and why."""
    if problems:
        console.complain(InferometerError(*problems), words)


def _listing(head: list[str], rows: list[list[str]], query: str, right: Sequence[int]) -> str:
    if not rows:
        raise NotFound(Problem("nothing_found", values={"query": shortened(query)}))
    return "\n".join(table([head, *rows], right)) + "\n"


def _sized(model: CatalogModel) -> CatalogModel:
    """With the parameters of its architecture where the user's own entry does not count them."""
    if model.parameters:
        return model
    from core.model.parameters import active_parameters, stored_parameters

    arch = load_model(model.id).architecture
    return dataclasses.replace(
        model, parameters=stored_parameters(arch), active_parameters=active_parameters(arch)
    )


def _billions(stored: int, active: int) -> str:
    """Parameters in 10⁹: "8.03B", and for a mixture of experts "671B (37.6B)"."""
    whole = f"{three_digits(stored / 1e9)}B"
    return f"{whole} ({three_digits(active / 1e9)}B)" if 0 < active < 0.8 * stored else whole


def _format(key: str) -> str:
    """The name of a weight format; a format that no engine here loads keeps the publisher's name."""
    return WEIGHT_FORMATS[key].label if key in WEIGHT_FORMATS else key


def _tflops(rate: float | None) -> str:
    return "–" if rate is None else f"{three_digits(rate)} TFLOP/s"
