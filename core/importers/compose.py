"""Docker Compose files: the service that starts an engine, as the command that ``docker run`` would take.

Nothing is run, and no other file is opened.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from core.errors import Problem, UnreadableFile
from core.importers.command_line import MAX_TEXT
from core.importers.engine_command import Command, parse_command
from core.strict_json import shortened
from core.yaml_subset import NotRead, parse

_MAX_LINES, _MAX_SERVICES = 5000, 200
# Nothing that tells what runs, in forms that differ.
_UNREAD = frozenset(
    {"volumes", "ports", "healthcheck", "labels", "logging", "networks", "configs", "secrets"}
)
_DEFAULT = re.compile(r"\$\{\w+:?-([^}]*)\}")


def looks_like_compose(text: str) -> bool:
    """Whether a text could be a Docker Compose file."""
    return (
        re.search(r"^services:[ \t]*(?:#.*)?\r?$", text, re.MULTILINE) is not None
        and re.search(r"^[ \t]+(?:image|build|command):", text, re.MULTILINE) is not None
    )


def read_compose(text: str) -> tuple[Command, Problem]:
    """The command of the first service that starts an engine, one with a model before one without, and a
    note that names it.

    Raises UnreadableFile with ``importer.compose_unknown`` where no service does.
    """
    found: tuple[Command, str] | None = None
    for name, service in _services(text):
        try:
            command = parse_command(_as_run(service))
        except (UnreadableFile, ValueError):
            continue
        if found is None or (command.model and not found[0].model):
            found = command, name
    if found is None:
        raise UnreadableFile(Problem("importer.compose_unknown"))
    values: dict[str, object] = {"service": shortened(found[1])}
    return found[0], Problem("importer.compose_service", (), values, "note")


def _services(text: str) -> list[tuple[str, dict[str, Any]]]:
    if text.count("\n") > _MAX_LINES:
        return []
    try:
        tree = parse("\n".join(_DEFAULT.sub(r"\1", text).splitlines()), _UNREAD)
    except NotRead:
        return []
    services = tree.get("services") if isinstance(tree, dict) else None
    if not isinstance(services, dict):
        return []
    listed = [(str(name), _merged(one)) for name, one in services.items() if isinstance(one, dict)]
    return listed[:_MAX_SERVICES]


def _merged(service: dict[str, Any]) -> dict[str, Any]:
    """With what ``<<`` brings in from elsewhere in the file."""
    shared = service.get("<<")
    return {**shared, **service} if isinstance(shared, dict) else service


def _as_run(service: dict[str, Any]) -> str:
    """The service as "docker run" is told of it."""
    words = ["docker", "run"]
    for name, value in _environment(service.get("environment")):
        words += ["-e", f"{name}={value}"]
    devices = _devices(service)
    if devices:
        words += ["--gpus", devices]
    image = service.get("image")
    words.append(image if isinstance(image, str) and image else "image")
    for part in ("entrypoint", "command"):
        words += _words(service.get(part))
    return shlex.join(words)[: MAX_TEXT + 1]


def _words(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(one) for one in value if _is_text(one)]
    return shlex.split(value.replace("\\\n", " ")) if isinstance(value, str) else []


def _environment(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield from ((str(name), str(one)) for name, one in value.items() if _is_text(one))
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, str) and "=" in one:
                name, _, given = one.partition("=")
                yield name, given


def _devices(service: dict[str, Any]) -> str:
    """What ``--gpus`` would be told; "" where nothing is said."""
    if _is_text(service.get("gpus")):
        return str(service["gpus"])
    node: Any = service
    for key in ("deploy", "resources", "reservations", "devices"):
        node = node.get(key) if isinstance(node, dict) else None
    for one in node if isinstance(node, list) else []:
        if not isinstance(one, dict):
            continue
        if _is_text(one.get("count")):
            return str(one["count"])
        if isinstance(one.get("device_ids"), list):
            return f"device={','.join(str(id_) for id_ in one['device_ids'] if _is_text(id_))}"
    return ""


def _is_text(value: Any) -> bool:
    """A text, or a number that stands for one."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)
