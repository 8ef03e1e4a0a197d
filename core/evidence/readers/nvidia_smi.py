"""What ``nvidia-smi`` prints: the table, ``-q``, ``-q -x``, ``--query-gpu --format=csv``, ``dmon``, ``pmon``.

One run a device.  Several samples of a device, as of a loop, are one run with their mean, spread and
quantiles.  Memory is in MiB, clocks in MHz, power in W.  Utilization is the share of time in which a kernel
ran, not how much of the device it used.
"""

import csv
import re
from collections.abc import Iterator

from core.evidence.readers.common import Reading, lines, number, text_of
from core.evidence.readers.smi_samples import Devices, iso_of

KEY, WHOLE = "nvidia_smi", True
_TABLE = re.compile(r"\| NVIDIA-SMI \d")
_QUERY = re.compile(r"=+NVSMI LOG=+")
_MONITOR = re.compile(
    r"^ *# ?(?:Date +Time +)?gpu +(?:pwr|pid|sm|mclk|fb|pviol|gtemp|sbecc|rxpci)\b", re.MULTILINE
)
_COLUMNS = re.compile(
    r"(?:memory\.(?:used|total|free)|utilization\.(?:gpu|memory)|temperature\.gpu|power\.draw|clocks\.|pstate)"
)
_HEAD = 20_000


def looks_like(text: str, _name: str) -> bool:
    """Whether one of its outputs is at the beginning."""
    head = text[:_HEAD]
    known = _TABLE.search(head) or _QUERY.search(head) or "<nvidia_smi_log>" in head or _MONITOR.search(head)
    return bool(known) or _is_csv(head)


def _is_csv(head: str) -> bool:
    first = next((line for line in head.splitlines()[:5] if "," in line and _COLUMNS.search(line)), "")
    return bool(first) and "{" not in first and all(_is_column(cell) for cell in first.split(","))


def _is_column(cell: str) -> bool:
    return bool(re.fullmatch(r"\s*[a-z_.0-9]{2,60}(?: \[[A-Za-z%/]{1,5}\])?\s*", cell))


def read(text: str, name: str) -> Reading:
    """One run a device."""
    devices = Devices(KEY, name)
    head = text[:_HEAD]
    if "<nvidia_smi_log>" in head:
        _xml(text, devices)
    elif _QUERY.search(head):
        _query(text, devices)
    elif _is_csv(head):
        _table(text, devices)
    else:
        if _TABLE.search(head):
            _screen(text, devices)
        if _MONITOR.search(text):
            _monitor(text, devices)
    return devices.reading()


# The table: two lines a device, the first with its number and name, the second with its figures.
_NAMED = re.compile(r"\|\s+(\d{1,3})\s+(\S[^|]{2,60}?)\s+(?:On|Off|N/A|WDDM|TCC|MCDM)\s*\|")
_FIGURES = re.compile(
    r"\|\s*(?:\d{1,3}%|N/A|ERR!)?\s+(\d{1,3})C\s+(P\d{1,2}|N/A)\s+(\d{1,5}|N/A)W? ?/ *(\d{1,5}|N/A)W?\s*\|"
    r"\s*(\d{1,9})Mi?B ?/ *(\d{1,9})Mi?B\s*\|\s*(\d{1,3}|N/A)%?"
)
_DATE = re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +(\w{3}) +(\d{1,2}) +(\d\d:\d\d:\d\d) +(\d{4})")


def _screen(text: str, devices: Devices) -> None:
    index = ""
    for number_, line in lines(text):
        if found := _DATE.search(line):
            devices.started(iso_of(*found.groups()))
        elif found := re.search(r"Driver Version: ([\d.]{1,20})", line):
            devices.version = found[1]
        elif found := _NAMED.match(line):
            index = found[1]
            devices.named(index, found[2], number_)
        elif index and (found := _FIGURES.match(line)):
            temperature, state, power, limit, used, total, busy = found.groups()
            sample = {"temperature": temperature, "power": power, "memory_used": used, "utilization": busy}
            devices.sample(index, sample)
            devices.told(index, performance_state=state, power_limit=number(limit))
            devices.total(index, number(total))
            index = ""


# ``-q``: indented names with values; of a clock or a temperature only the current one.
_WANTED = {
    ("fb memory usage", "used"): "memory_used",
    ("utilization", "gpu"): "utilization",
    ("temperature", "gpu current temp"): "temperature",
    ("power readings", "power draw"): "power",
    ("gpu power readings", "power draw"): "power",
    ("gpu power readings", "average power draw"): "power",
    ("gpu power readings", "instantaneous power draw"): "power",
    ("clocks", "sm"): "core_clock",
    ("clocks", "memory"): "memory_clock",
}
_REASONS = ("clocks throttle reasons", "clocks event reasons")


def _query(text: str, devices: Devices) -> None:
    index, section, deeper = -1, "", ""
    sample: dict[str, str] = {}
    for number_, line in lines(text):
        label, colon, value = line.partition(": ")
        key, value = label.strip().lower(), value.strip()
        begins = re.match(r"GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:", line) is not None
        if (begins or key == "timestamp") and sample:
            devices.sample(str(index), sample)
            sample = {}
        if begins:
            index, section, deeper = index + 1, "", ""
            devices.named(str(index), "", number_)
        elif key == "timestamp" and (found := _DATE.search(value)):
            devices.started(iso_of(*found.groups()))
            index = -1
        elif key == "driver version":
            devices.version = value
        elif not colon:
            section, deeper = (key, "") if len(line) - len(line.lstrip()) <= 4 else (section, key)
        elif index >= 0:
            figure = _WANTED.get((section, key), "")
            if figure and figure not in sample:
                sample[figure] = value.split(" ")[0]
            else:
                _queried(devices, str(index), (section, deeper, key), value)
    devices.sample(str(index), sample)


def _queried(devices: Devices, index: str, place: tuple[str, str, str], value: str) -> None:
    """What is no figure of a moment."""
    section, deeper, key = place
    amount = value.split(" ", 1)[0]
    if key == "product name" and not section:
        devices.named(index, value, 0)
    elif section == "fb memory usage" and key == "total":
        devices.total(index, number(amount))
    elif section in _REASONS:
        devices.throttled(index, key, value)
    elif "power readings" in section and key in ("enforced power limit", "current power limit"):
        devices.told(index, power_limit=number(amount))
    elif key == "performance state":
        devices.told(index, performance_state=value)
    elif deeper in ("pcie generation", "link width") and key == "current":
        devices.told(index, **{deeper.replace(" ", "_"): value})


# ``-q -x``: no XML reader is used, so that no entity is ever expanded.
_GPU = re.compile(r"<gpu id=\"[^\"\n]{0,40}\">")
_TAGS = (
    ("memory_used", r"<fb_memory_usage>[^#]{0,200}?<used>\s*(\d{1,9}) MiB"),
    ("utilization", r"<gpu_util>\s*(\d{1,3}) %"),
    ("temperature", r"<gpu_temp>\s*(\d{1,3}) C"),
    ("power", r"<(?:instant_|average_)?power_draw>\s*([\d.]{1,9}) W"),
    ("core_clock", r"<clocks>[^#]{0,200}?<sm_clock>\s*(\d{1,6}) MHz"),
    ("memory_clock", r"<clocks>[^#]{0,200}?<mem_clock>\s*(\d{1,6}) MHz"),
)


def _xml(text: str, devices: Devices) -> None:
    if found := re.search(r"<driver_version>([\d.]{1,20})<", text[:_HEAD]):
        devices.version = found[1]
    if found := _DATE.search(text[:_HEAD]):
        devices.started(iso_of(*found.groups()))
    places = [found.start() for found in _GPU.finditer(text)][:512]
    for index, place in enumerate(places):
        end = places[index + 1] if index + 1 < len(places) else len(text)
        part, line = text[place : min(end, place + 60_000)], text.count("\n", 0, place) + 1
        named = re.search(r"<product_name>([^<\n]{1,100})<", part)
        devices.named(str(index), named[1] if named else "", line)
        sample = {figure: tag[1] for figure, form in _TAGS if (tag := re.search(form, part))}
        devices.sample(str(index), sample)
        if total := re.search(r"<fb_memory_usage>\s*<total>\s*(\d{1,9}) MiB", part):
            devices.total(str(index), number(total[1]))
        for reason, state in re.findall(r"<clocks_(?:throttle|event)_reason_(\w{1,60})>([\w ]{1,20})<", part):
            devices.throttled(str(index), reason, state)


# ``--query-gpu``: a header, unless it was left out, which leaves nothing to go by.
_CELLS = {
    "memory.used": "memory_used",
    "utilization.gpu": "utilization",
    "temperature.gpu": "temperature",
    "power.draw": "power",
    "power.draw.average": "power",
    "power.draw.instant": "power",
    "clocks.sm": "core_clock",
    "clocks.current.sm": "core_clock",
    "clocks.mem": "memory_clock",
    "clocks.current.memory": "memory_clock",
}


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    for number_, line in lines(text):
        try:
            cells = next(csv.reader([line], skipinitialspace=True), [])
        except csv.Error:
            continue
        if cells:
            yield number_, [cell.strip() for cell in cells]


def _table(text: str, devices: Devices) -> None:
    heads: list[str] = []
    for line, cells in _rows(text):
        names = [re.sub(r"\s*\[.*", "", cell.lower()) for cell in cells]
        if sum(
            name in _CELLS or name in ("name", "memory.total", "timestamp") for name in names
        ) >= 1 and all(_is_column(cell) for cell in cells):
            heads = names
            continue
        if not heads or len(cells) != len(heads):
            if heads:
                devices.unreadable(line)
            continue
        _row(devices, dict(zip(heads, cells, strict=True)), line)


def _row(devices: Devices, row: dict[str, str], line: int) -> None:
    index = row.get("index") or row.get("pci.bus_id") or row.get("uuid") or row.get("gpu_uuid") or "0"
    devices.named(index, row.get("name") or row.get("gpu_name") or "", line)
    if found := re.match(r"(\d{4})[/-](\d\d)[/-](\d\d)[ T](\d\d:\d\d:\d\d)", row.get("timestamp", "")):
        devices.started(f"{found[1]}-{found[2]}-{found[3]}T{found[4]}")
    sample = {figure: row[name].split(" ")[0] for name, figure in _CELLS.items() if name in row}
    devices.sample(index, sample)
    devices.total(index, number(row.get("memory.total", "").split(" ")[0]))
    devices.told(index, power_limit=number((row.get("power.limit") or "").split(" ")[0]))
    if row.get("pstate"):
        devices.told(index, performance_state=row["pstate"])
    for name, value in row.items():
        if "reasons." in name and not name.endswith(("supported", "active", "counters")):
            devices.throttled(index, name.rpartition("reasons.")[2], value)


# ``dmon`` and ``pmon``: names after a #, units after another one, both again every screen.
_MONITORED = {
    "pwr": "power",
    "gtemp": "temperature",
    "temp": "temperature",
    "sm": "utilization",
    "mclk": "memory_clock",
    "pclk": "core_clock",
    "fb": "memory_used",
}


def _monitor(text: str, devices: Devices) -> None:
    heads: list[str] = []
    for number_, line in lines(text):
        words = line.replace(",", " ").split()
        if line.lstrip().startswith("#"):
            named = line.replace(",", " ").replace("#", " ").split()
            if "gpu" in named:
                heads = named
            continue
        if not heads or not words or not words[0].replace(":", "").isdigit():
            continue
        row = dict(zip(heads, words, strict=False))
        if len(words) < len(heads) - ("command" in heads) or not row.get("gpu", "").isdigit():
            continue
        _monitored(devices, row, words, heads, number_)


def _monitored(devices: Devices, row: dict[str, str], words: list[str], heads: list[str], line: int) -> None:
    sample = {figure: row[name] for name, figure in _MONITORED.items() if row.get(name, "-") != "-"}
    index = row["gpu"]
    if "pid" in row:
        if row["pid"] == "-" or not sample:
            return
        index = f"{index} pid {row['pid']}"
        command = " ".join(words[heads.index("command") :]) if "command" in heads else ""
        devices.named(index, "", line)
        devices.told(index, process=text_of(command))
    if found := re.match(r"(\d{4})(\d\d)(\d\d)$", row.get("Date", row.get("YYYYMMDD", ""))):
        devices.started("-".join(found.groups()) + f"T{row.get('Time', row.get('HH:MM:SS', ''))}")
    devices.named(index, "", line)
    devices.sample(index, sample)
    for name in ("pviol", "tviol"):
        if row.get(name, "-") not in ("-", "0"):
            devices.throttled(index, {"pviol": "power", "tviol": "thermal"}[name], "Active")
