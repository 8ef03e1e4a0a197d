"""The text of a command taken apart: environment, container, program, arguments.  Nothing is run."""

import re
import shlex
from dataclasses import dataclass, field, replace

from core.errors import Problem, UnreadableFile

MAX_TEXT = 20_000
MAX_WORDS = 2000
# The program that serves, and the engine that it is.
PROGRAMS: dict[str, str] = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "vllm": "vllm",
    "sglang.launch_server": "sglang",
    "sglang": "sglang",
    "trtllm-serve": "trtllm",
    "llama-server": "llamacpp",
    "llama-cli": "llamacpp",
    "llama-bench": "llamacpp",
    "llama-batched-bench": "llamacpp",
    "ollama": "ollama",
    "mlx_lm.server": "mlx",
    "mlx_lm.generate": "mlx",
}
_SUBCOMMANDS = {
    "vllm": ("serve",),
    "sglang": ("serve",),
    "trtllm-serve": ("serve",),
    "ollama": ("run", "serve"),
}
_NOTHING_ALONE = frozenset({"vllm", "sglang", "ollama"})  # "pip install vllm" starts nothing
# What a container image holds, by a part of its name.
_IMAGES = (
    ("vllm", "vllm"),
    ("sglang", "sglang"),
    ("tensorrt-llm", "trtllm"),
    ("tensorrt_llm", "trtllm"),
    ("llama.cpp", "llamacpp"),
    ("ollama", "ollama"),
)
_ASSIGNMENT = re.compile(r"(?:\$env:)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_ENDS = frozenset({"&&", "||", ";", "|", "&"})
# Where the output goes: the sign alone has its file behind it.
_REDIRECT_ALONE = re.compile(r"(?:\d*|&)(?:>>?|<)&?")
_REDIRECT = re.compile(r"(?:\d*|&)>>?.*|<.*")
# Options of "docker run" that stand alone; all others of its options take a value.
_DOCKER_FLAGS = frozenset("-d -i -t -it -ti --rm --init --privileged --detach --interactive --tty".split())  # noqa: SIM905
_VERSION = re.compile(r":v?(\d+\.\d+(?:\.\d+)?)")


@dataclass(slots=True)
class Invocation:
    """A serving program with its arguments.  ``version``: of the container's tag, "" without one."""

    engine: str
    program: str
    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    version: str = ""
    devices: int | None = None  # that a container or the environment lets it see


def looks_like_command(text: str) -> bool:
    """Whether a text could be a command that starts an engine."""
    if len(text) > MAX_TEXT or text.lstrip()[:1] in ("{", "["):
        return False
    names = "|".join(re.escape(name) for name in PROGRAMS)
    return re.search(
        rf"(?:^|[\s/\\'\"]|docker run.*)(?:{names})(?:\.exe)?(?=[\s:'\"]|$)", text
    ) is not None or (
        re.search(r"\b(?:docker|podman) run\b", text) is not None
        and any(part in text.lower() for part, _ in _IMAGES)
    )


def words_of(text: str) -> list[str]:
    """Words of a command: continued lines joined, quotes taken off.

    Raises UnreadableFile: ``importer.command_too_long`` {limit}, ``importer.command_quote``.
    """
    if len(text) > MAX_TEXT:
        raise UnreadableFile(Problem("importer.command_too_long", (), {"limit": MAX_TEXT}))
    text = text.replace("\r\n", "\n")
    text = re.sub(r"[\\`^][ \t]*\n", " ", text)
    text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"(?<![\w/])([A-Za-z]:)?\\(?=[\w.])", lambda m: m[0].replace("\\", "/"), text)
    if re.search(r"[A-Za-z]:/", text):
        text = re.sub(r"(?<=[\w.])\\(?=[\w.])", "/", text)
    try:
        reader = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars="|;")
        reader.whitespace_split, reader.commenters = True, ""
        words = list(reader)
    except ValueError:
        raise UnreadableFile(Problem("importer.command_quote")) from None
    if len(words) > MAX_WORDS:
        raise UnreadableFile(Problem("importer.command_too_long", (), {"limit": MAX_TEXT}))
    return words


def invocation_of(text: str, depth: int = 0) -> Invocation:
    """The first serving program in a text.  Raises UnreadableFile with ``importer.command_unknown``."""
    environment: dict[str, str] = {}
    server: Invocation | None = None
    for segment in _segments(words_of(text)):
        found = _in_segment(segment, environment, depth)
        if found is None:
            continue
        if server is not None:
            return _asked_of(server, found)
        if found.engine != "ollama" or found.arguments:
            return found
        # Ollama's server starts without a model; a later command names it.
        server = replace(found, environment=dict(environment))
    if server is None:
        raise UnreadableFile(Problem("importer.command_unknown"))
    return server


def _asked_of(server: Invocation, client: Invocation) -> Invocation:
    """Ollama's server with the model that a client asks it for; only the server reads the environment."""
    return replace(server, arguments=client.arguments) if client.engine == "ollama" else server


def _segments(words: list[str]) -> list[list[str]]:
    segments: list[list[str]] = [[]]
    for word in words:
        if word in _ENDS or (word and not word.strip("|;&")):
            segments.append([])
            continue
        ended = word.endswith("&") and not _REDIRECT_ALONE.fullmatch(word)
        segments[-1].append(word[:-1] if ended else word)
        if ended:
            segments.append([])
    return [segment for segment in segments if segment]


def _without_redirects(words: list[str]) -> list[str]:
    kept: list[str] = []
    awaited = False  # the file of a redirection
    for word in words:
        if not awaited and not _REDIRECT.fullmatch(word):
            kept.append(word)
        awaited = not awaited and _REDIRECT_ALONE.fullmatch(word) is not None
    return kept


def _in_segment(words: list[str], environment: dict[str, str], depth: int) -> Invocation | None:
    rest = _without_redirects(words)
    devices: int | None = None
    image = version = ""
    if "run" in rest[:3] and any(word.rpartition("/")[2] in ("docker", "podman") for word in rest[:2]):
        rest, image, devices = _container(rest, environment)
        tag = _VERSION.search(image)
        version = tag[1] if tag else ""
    for index, word in enumerate(rest):
        assigned = _ASSIGNMENT.fullmatch(word)
        if assigned and not word.startswith("-"):
            environment[assigned[1]] = assigned[2]
            continue
        if word in ("-c", "-lc", "-ec") and index and depth < 2 and index + 1 < len(rest):
            try:
                inner = invocation_of(rest[index + 1], depth + 1)
            except UnreadableFile:
                continue
            inner.environment = {**environment, **inner.environment}
            inner.version, inner.devices = inner.version or version, inner.devices or devices
            return inner
        name = word.rpartition("/")[2].removesuffix(".exe").removesuffix(".py")
        following = _SUBCOMMANDS.get(name, ())
        stands = rest[index + 1 : index + 2] and rest[index + 1] in following
        if name in PROGRAMS and (stands or name not in _NOTHING_ALONE):
            arguments = rest[index + (2 if stands else 1) :]
            if name == "ollama" and rest[index + 1] == "serve":  # which takes none
                arguments = []
            return Invocation(
                PROGRAMS[name], name, arguments, environment, version, devices or _visible(environment)
            )
    engine = next((engine for part, engine in _IMAGES if part in image.lower()), "")
    if not engine:
        return None
    return Invocation(
        engine, image, _behind_image(engine, rest), environment, version, devices or _visible(environment)
    )


def _behind_image(engine: str, words: list[str]) -> list[str]:
    """Arguments of the program that an image starts by itself: its subcommand is none of them."""
    named = words[:1] and words[0] in _SUBCOMMANDS.get(engine, ())
    if named and engine == "ollama" and words[0] == "serve":  # which takes none
        return []
    return words[1:] if named else words


def _visible(environment: dict[str, str]) -> int | None:
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        listed = [part for part in environment.get(name, "").split(",") if part.strip() not in ("", "-1")]
        if listed:
            return min(len(listed), 4096)
    return None


def _container(words: list[str], environment: dict[str, str]) -> tuple[list[str], str, int | None]:
    """Words behind the image, the image, and the number of devices handed in."""
    devices: int | None = None
    index = words.index("run") + 1
    while index < len(words) and words[index].startswith("-"):
        name, equals, value = words[index].partition("=")
        index += 1
        if name in _DOCKER_FLAGS:
            continue
        if not equals:
            value = words[index] if index < len(words) else ""
            index += 1
        if name in ("-e", "--env"):
            key, _, content = value.partition("=")
            environment[key] = content
        elif name == "--gpus":
            devices = _gpus(value)
    image = words[index] if index < len(words) else ""
    return words[index + 1 :], image, devices


def _gpus(value: str) -> int | None:
    """The number in docker's ``--gpus``: "2", "device=0,1"; None for "all"."""
    value = value.strip("'\"")
    if value.isdecimal() and len(value) <= 4:
        return int(value) or None
    if value.startswith("device="):
        return min(len(value.removeprefix("device=").split(",")), 4096)
    return None
