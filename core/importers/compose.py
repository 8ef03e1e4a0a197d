"""Docker Compose files: the service that starts an engine, as the command that ``docker run`` would take.

Only what is asked for is read, by a reader of the plain part of YAML: maps, lists, texts over several
lines.  Nothing is run, and no other file is opened.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from core.errors import Problem, UnreadableFile
from core.importers.command_line import MAX_TEXT
from core.importers.engine_command import Command, parse_command
from core.strict_json import shortened

_MAX_LINES, _MAX_DEPTH, _MAX_SERVICES = 5000, 20, 200
_KEY = re.compile(r"""(["']?)([^\s"'#\-\[{][^:"']*|[^\s"'#:\[{]+)\1\s*:(?:\s+(.*))?""")
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
    lines = [line.expandtabs() for line in _DEFAULT.sub(r"\1", text).splitlines()]
    if len(lines) > _MAX_LINES:
        return []
    tree, _ = _node(lines, _next(lines, 0), 0)
    services = tree.get("services") if isinstance(tree, dict) else None
    if not isinstance(services, dict):
        return []
    listed = [(name, one) for name, one in services.items() if isinstance(one, dict)]
    return listed[:_MAX_SERVICES]


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
        return [one for one in value if isinstance(one, str)]
    return shlex.split(value.replace("\\\n", " ")) if isinstance(value, str) else []


def _environment(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield from ((name, one) for name, one in value.items() if isinstance(one, str))
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, str) and "=" in one:
                name, _, given = one.partition("=")
                yield name, given


def _devices(service: dict[str, Any]) -> str:
    """What ``--gpus`` would be told; "" where nothing is said."""
    if isinstance(service.get("gpus"), str):
        return str(service["gpus"])
    node: Any = service
    for key in ("deploy", "resources", "reservations", "devices"):
        node = node.get(key) if isinstance(node, dict) else None
    for one in node if isinstance(node, list) else []:
        if not isinstance(one, dict):
            continue
        if isinstance(one.get("count"), str):
            return str(one["count"])
        if isinstance(one.get("device_ids"), list):
            return f"device={','.join(filter(lambda id_: isinstance(id_, str), one['device_ids']))}"
    return ""


# -- the plain part of YAML --------------------------------------------------------------------


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _next(lines: list[str], at: int) -> int:
    """The next line that says something."""
    while at < len(lines) and (not lines[at].strip() or lines[at].lstrip().startswith(("#", "---"))):
        at += 1
    return at


def _is_item(line: str) -> bool:
    return line.lstrip().startswith("- ") or line.strip() == "-"


def _node(lines: list[str], at: int, depth: int) -> tuple[Any, int]:
    """The map or list that begins in a line, and the line behind it."""
    if at >= len(lines) or depth > _MAX_DEPTH:
        return None, len(lines)
    indent, is_list = _indent(lines[at]), _is_item(lines[at])
    found: Any = [] if is_list else {}
    while (at := _next(lines, at)) < len(lines) and _indent(lines[at]) == indent:
        if _is_item(lines[at]) != is_list:
            break
        if is_list:
            inner = lines[at].lstrip()[1:].lstrip()
            if _KEY.fullmatch(inner):
                lines[at] = " " * (_indent(lines[at].replace("-", " ", 1))) + inner
                value, at = _node(lines, at, depth + 1)
            else:
                value, at = _value(lines, at, indent, inner, depth)
            found.append(value)
            continue
        key = _KEY.fullmatch(lines[at].strip())
        if key is None:
            at += 1
            continue
        found[key[2].strip()], at = _value(lines, at, indent, key[3] or "", depth)
    return found, max(at, _behind(lines, at, indent))


def _behind(lines: list[str], at: int, indent: int) -> int:
    """The first line that is no deeper: what is deeper and was not understood is passed over."""
    while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) > indent):
        at += 1
    return at


def _value(lines: list[str], at: int, indent: int, said: str, depth: int) -> tuple[Any, int]:
    """What stands behind a key or a dash, and the line behind it."""
    said = re.sub(r"(?:^|\s+)#.*$", "", said) if said[:1] not in ("'", '"') else said
    at += 1
    if not said.strip():
        below = _next(lines, at)
        if below < len(lines) and (
            _indent(lines[below]) > indent or (_indent(lines[below]) == indent and _is_item(lines[below]))
        ):
            return _node(lines, below, depth + 1)
        return "", at
    end = _behind(lines, at, indent)
    rest = [line.strip() for line in lines[at:end]]
    if re.fullmatch(r"[|>][+-]?\d?", said.strip()):
        return "\n".join(rest).strip(), end
    whole = "\n".join([said.strip(), *(line for line in rest if not line.startswith("#"))]).strip()
    if whole.startswith("["):
        return _listed(whole), end
    if len(whole) > 1 and whole[0] in "'\"":
        close = whole.rfind(whole[0])
        return whole[1 : close if close > 0 else None], end
    return whole, end


def _listed(text: str) -> list[str]:
    """The texts of "[a, 'b']"."""
    reader = shlex.shlex(text[1:].rpartition("]")[0] or text[1:], posix=True)
    reader.whitespace, reader.whitespace_split, reader.commenters = ", \t\n", True, ""
    try:
        return list(reader)
    except ValueError:  # a quotation mark that is never closed
        return []
