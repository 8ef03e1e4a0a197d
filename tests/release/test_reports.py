"""Reports in every form: complete, self-contained, harmless whatever the names, and the sheet computes."""

import csv
import io
import itertools
import math
import re
import shutil
import subprocess
import zipfile
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from core import cli
from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.errors import InferometerError
from core.estimator import estimate
from core.explain.ledger_names import taken_at_start
from core.files import scenario_file
from core.planning.compare import difference_table
from core.reports.as_csv import report_csv
from core.reports.as_html import _with_links, report_html, without_stops
from core.reports.as_markdown import report_markdown
from core.reports.as_xlsx import report_xlsx
from core.reports.cells import harmless
from core.reports.comparison import Comparison, Series, compared
from core.reports.content import report_of
from core.reports.svg import Chart, Curve, draw, ticks
from core.reports.write import report_bytes
from core.spec.change import with_values
from core.units import show_limit
from core.words import Words

WORDS = Words("en")
NASTY = '=HYPERLINK("http://x","y")<script>alert(1)</script>|`*_[a](b)$x$&amp;'
CHANGES = {
    "8b": (0, {}),
    "32b": (1, {}),
    "v3": (2, {}),
    "unfit": (1, {"precision.weights": "bf16"}),
    "textbook": (0, {"engine.name": "textbook", "workload.users": 2}),
    "prefix": (1, {"workload.shared_prefix_tokens": 2048}),
    "copies": (0, {"deployment.accelerators": 2, "workload.users": 30}),
    "endless": (0, {"workload.load": "requests", "workload.request_rate": 100.0}),
    "rate": (0, {"workload.load": "requests", "workload.request_rate": 0.37}),
    "windows": (0, {}),
    "llama": (
        0,
        {"engine.name": "llamacpp", "precision.weights": "gguf_q4_k_m", "precision.kv_cache": "fp16"},
    ),
    "sglang": (0, {"engine.name": "sglang"}),
    "nasty": (
        0,
        {"name": NASTY, "notes": f"{NASTY}\n# head", "model.name": NASTY, "accelerator.name": NASTY},
    ),
}


@pytest.fixture(scope="module")
def points(samples):
    loaded = [scenario_file.load(path) for path in samples]
    found = {name: with_values(loaded[i], dict(change)) for name, (i, change) in CHANGES.items()}
    found["windows"] = with_values(found["windows"], {"model": load_model("google/gemma-3-4b-it")})
    return {name: estimate(scenario) for name, scenario in found.items()}


@pytest.mark.parametrize("name", CHANGES)
def test_html_stands_alone(points, name):
    page = report_html(report_of(points[name], WORDS), WORDS)
    assert "<script" not in page and "javascript:" not in page
    assert not re.search(r'(?:src|xlink:href)="', page) and "@import" not in page and "url(" not in page
    tree = page.split("<body>")[1]
    assert tree.count("<svg") == tree.count("</svg>") == len(report_of(points[name], WORDS).pictures)
    for picture in report_of(points[name], WORDS).pictures:
        ET.fromstring(picture.svg)  # sound XML, names escaped
        assert "nan" not in picture.svg and "inf" not in picture.svg
    assert "reports." not in re.sub(r"<[^>]*>", "", page)


class Leads(HTMLParser):
    """Every address that a page would fetch: by attributes, styles, redirections; a link only where odd."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)
        self.found += re.findall(r"url\(\s*[\"']?([^)\"']*)|@import\s+[\"']?([^;\"']*)", page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = (
            "src",
            "href",
            "srcset",
            "data",
            "action",
            "formaction",
            "poster",
            "background",
            "cite",
            "ping",
        )
        for key, value in attrs:
            # Sources are linked for whoever clicks; nothing is fetched before.
            asked = tag == "a" and key == "href" and str(value).startswith(("https://", "http://"))
            if key.rpartition(":")[2] in names and not (asked and dict(attrs).get("rel") == "noreferrer"):
                self.found.append(value or "")
        if tag in ("script", "iframe", "object", "embed", "link", "base", "form", "img", "video", "audio"):
            self.found.append(f"<{tag}>")
        if tag == "meta" and dict(attrs).get("http-equiv"):
            self.found.append("refresh")


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("name", CHANGES)
def test_html_leads_nowhere(points, name, language):
    words = Words(language)
    found = Leads(report_html(report_of(points[name], words), words)).found
    assert [lead for lead in found if not str(lead).startswith("#")] == []


def test_what_leads_out_would_be_found():
    page = (
        '<a href="http://x">y</a><p style="background:url(//x)"><svg><image xlink:href="z"/></svg><img src=a>'
    )
    assert len(Leads(page).found) == 5, Leads(page).found


@pytest.mark.parametrize("name", CHANGES)
def test_markdown_has_every_part_and_no_mark_of_a_name(points, name):
    page = report_markdown(report_of(points[name], WORDS), WORDS)
    for title in ("reports.scenario", "ledger.title", "derivation.title", "reports.assumptions"):
        assert f"# {WORDS(title)}" in page
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) >= 3 for row in rows)
    assert not re.search(r"(?<!\\)<script", page) and "[a](b)" not in page
    assert not any(line.startswith("# head") for line in page.splitlines())


def test_csv_has_numbers_and_no_formula(points):
    for point in points.values():
        rows = list(csv.reader(io.StringIO(report_csv(point, WORDS))))
        assert {len(row) for row in rows} == {7}
        for row in rows:
            for cell in row:
                number = re.fullmatch(r"-?\d[\d.]*(e[+-]?\d+)?|-?inf", cell)
                assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), cell
        values = {row[1]: row[3] for row in rows if row[0] == "ledger"}
        graphs = next((row[2:4] for row in rows if row[1] == "engine.enforce_eager"), None)
        assert graphs in (None, ["CUDA graphs", "Off" if point.scenario.engine.enforce_eager else "On"])
        assert {k: int(v) for k, v in values.items()} == {line.key: line.bytes for line in point.ledger.lines}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "＝1"])
def test_a_formula_is_told_to_be_text(text):
    assert harmless(text) == f"'{text}"


class Book:
    """A workbook as its XML says, with an interpreter for the formulas that we write."""

    def __init__(self, data: bytes) -> None:
        self.cells: dict[tuple[str, str], tuple[str | None, str | None]] = {}
        main = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
        with zipfile.ZipFile(io.BytesIO(data)) as files:
            strings = ET.fromstring(files.read("xl/sharedStrings.xml"))
            self.texts = ["".join(t.text or "" for t in s.iter(f"{main}t")) for s in strings]
            book = ET.fromstring(files.read("xl/workbook.xml"))
            names = [s.attrib["name"] for s in book.iter(f"{main}sheet")]
            self.names = names
            for index, name in enumerate(names, 1):
                sheet = ET.fromstring(files.read(f"xl/worksheets/sheet{index}.xml"))
                for cell in sheet.iter(f"{main}c"):
                    formula, value = cell.find(f"{main}f"), cell.find(f"{main}v")
                    kept = None if value is None else value.text
                    if cell.attrib.get("t") == "s":
                        kept = self.texts[int(kept)]
                    self.cells[name, cell.attrib["r"]] = (None if formula is None else formula.text, kept)
        self.known: dict[tuple[str, str], float] = {}

    def number(self, sheet: str, cell: str) -> float:
        """The value of a cell, worked out anew."""
        key = (sheet, cell.replace("$", ""))
        if key not in self.known:
            formula, value = self.cells[key]
            self.known[key] = float(value) if formula is None else self._compute(formula, sheet)
        return self.known[key]

    def text(self, sheet: str, cell: str) -> str:
        """The text of a cell, of a formula worked out anew."""
        formula, value = self.cells[sheet, cell]
        return str(value if formula is None else self._value(formula, sheet))

    def _compute(self, formula: str, sheet: str) -> float:
        return float(self._value(formula, sheet))

    def _value(self, formula: str, sheet: str) -> float | str:
        def ref(match: re.Match) -> str:
            return repr(self.number(match["sheet"] or sheet, match["cell"]))

        def total(match: re.Match) -> str:
            letter, first, last = match[1], int(match[2]), int(match[3])
            return repr(sum(self.number(sheet, f"{letter}{row}") for row in range(first, last + 1)))

        text = re.sub(r"SUM\(([A-Z])(\d+):[A-Z](\d+)\)", total, formula)
        text = re.sub(r"(?:'(?P<sheet>[^']+)'!)?(?P<cell>\$?[A-Z]{1,2}\$?\d+)(?!\()", ref, text)
        text = text.replace("^", "**")
        scope = {"ROUNDUP": lambda v, _: math.ceil(v), "INT": math.floor, "MAX": max, "MIN": min}
        scope["IF"] = lambda condition, yes, no: yes if condition else no
        return eval(text, {"__builtins__": {}}, scope)


def ledger_rows(book):
    sheet = book.names[1]
    row = 2
    while (sheet, f"C{row}") in book.cells:
        yield row, book.cells[sheet, f"A{row}"][1]
        row += 1


@pytest.mark.parametrize("name", CHANGES)
def test_the_sheet_computes_the_ledger(points, name):
    point = points[name]
    book = Book(report_xlsx(point, WORDS))
    got = {label: book.number(book.names[1], f"C{row}") for row, label in ledger_rows(book)}
    lines = [line for line in point.ledger.lines if line.bytes]
    # What is left stands there even where it is nothing: less of an input would leave some.
    beyond, limit = ("unused", "taken") if taken_at_start(point) else ("outside", "budget_bytes")
    names = {"outside": beyond}
    wanted = dict.fromkeys((WORDS("ledger.kv_cache_spare"), WORDS(f"ledger.{beyond}")), 0)
    wanted |= {WORDS(f"ledger.{names.get(line.key, line.key)}"): line.bytes for line in lines}
    inside = sum(line.bytes for line in lines if line.key != "outside")
    assert got.pop(WORDS("reports.sum")) == pytest.approx(inside, rel=2e-9, abs=8)
    assert got.pop(WORDS(f"report.ledger.{limit}")) == point.ledger.budget_bytes
    assert got.pop(WORDS("report.ledger.device_bytes")) == point.ledger.device_bytes
    assert got.keys() == wanted.keys()
    for label, value in wanted.items():
        assert got[label] == pytest.approx(value, rel=2e-9, abs=4), label


@pytest.mark.parametrize("name", CHANGES)
def test_stored_results_are_those_of_the_formulas(points, name):
    book = Book(report_xlsx(points[name], WORDS))
    live = [(key, value) for key, (formula, value) in book.cells.items() if formula]
    assert len(live) > 20
    said = [at for at, value in live if not re.fullmatch(r"-?[\d.]+(E[-+]?\d+)?", value, re.IGNORECASE)]
    assert all(book.text(*at) == book.cells[at][1] for at in said)
    for (sheet, cell), value in live:
        if (sheet, cell) in said:
            continue
        assert book.number(sheet, cell) == pytest.approx(float(value), rel=1e-6, abs=1e-6), cell


def changed(book, values):
    """The workbook with other inputs, by symbol, and everything worked out anew."""
    working = book.names[2]
    for symbol, value in values.items():
        places = [c for (s, c), (_, v) in book.cells.items() if s == working and c[0] == "B" and v == symbol]
        place = min(places, key=lambda c: int(c[1:])).replace("B", "C")
        formula, _ = book.cells[working, place]
        assert formula is None, symbol
        book.cells[working, place] = (None, str(value))
    return book


INPUTS = {  # path of the scenario → symbol of the sheet
    "workload.users": "C",
    "engine.gpu_memory_utilization": "u",
    "workload.prompt_tokens": "L",
}
MOVES = [
    {"workload.users": 3},
    {"workload.users": 11, "engine.gpu_memory_utilization": 0.95},
    {"workload.users": 2, "engine.gpu_memory_utilization": 0.86, "workload.prompt_tokens": 700},
    {"workload.users": 4, "workload.prompt_tokens": 3000},
]


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("name", ["8b", "32b", "v3", "prefix", "copies", "windows"])
def test_inputs_of_the_sheet_move_everything_that_depends_on_them(points, name, move):
    """Each line, sum, budget and ceiling is what the program says of a scenario with those inputs."""
    scenario = points[name].scenario
    if scenario.workload.shared_prefix_tokens > move.get("workload.prompt_tokens", 10**6):
        pytest.skip("no prompt is shorter than what it shares")
    book, other = Book(report_xlsx(points[name], WORDS)), estimate(with_values(scenario, move))
    cells = {INPUTS[path]: value for path, value in move.items()}
    if "L" in cells:
        cells["L"] = move["workload.prompt_tokens"] + scenario.workload.output_tokens
    changed(book, cells)
    got = {label: book.number(book.names[1], f"C{row}") for row, label in ledger_rows(book)}
    assert other.ledger.fits
    for line in other.ledger.lines:
        assert got[WORDS(f"ledger.{line.key}")] == pytest.approx(line.bytes, abs=8), line.key
    assert got[WORDS("reports.sum")] == pytest.approx(other.ledger.budget_bytes, abs=1)
    assert got[WORDS("report.ledger.budget_bytes")] == other.ledger.budget_bytes
    assert got[WORDS("report.ledger.device_bytes")] == other.ledger.device_bytes
    told = summary_of(book)
    needed = told[WORDS("derivation.titles.memory_per_device")]
    assert needed * 2**30 == pytest.approx(other.ledger.needed_bytes, abs=8)
    assert told[WORDS("derivation.titles.concurrent_users")] == other.capacity.at_once
    assert told[WORDS("derivation.titles.kv_tokens")] == other.capacity.kv_tokens
    sheet = book.names[0]
    rows = {
        v: c[1:] for (s, c), (_, v) in book.cells.items() if s == sheet and c[0] == "A" and int(c[1:]) < 16
    }
    row = rows[WORDS("derivation.titles.concurrent_users")]
    wanted = {row[0]: row[4] for row in report_of(other, WORDS, with_advice=False).metrics.rows}
    assert book.text(sheet, f"G{row}") == wanted[WORDS("derivation.titles.concurrent_users")]
    row = rows[WORDS("derivation.titles.memory_per_device")]
    assert book.number(sheet, f"F{row}") * 2**30 == pytest.approx(other.ledger.budget_bytes)


@pytest.mark.parametrize("name", CHANGES)
def test_a_cell_that_may_be_changed_moves_the_ledger(points, name):
    """No input lies there for nothing."""
    data = report_xlsx(points[name], WORDS)
    book = Book(data)
    working, ledger = book.names[2], book.names[1]
    inputs = list(itertools.takewhile(lambda c: (working, c) in book.cells, (f"C{n}" for n in range(3, 9))))
    assert inputs
    before = [book.number(ledger, f"C{row}") for row, _ in ledger_rows(book)]
    for cell in inputs:
        moved = Book(data)
        moved.cells[working, cell] = (None, str(float(moved.cells[working, cell][1]) * 0.5))
        assert [moved.number(ledger, f"C{row}") for row, _ in ledger_rows(moved)] != before, cell


def summary_of(book):
    """Numbers of the first sheet by their names, worked out anew."""
    sheet = book.names[0]
    numbers = [c[1:] for (s, c), _ in book.cells.items() if s == sheet and c[0] == "B"]
    found = {}
    for row in numbers:
        formula, value = book.cells[sheet, f"B{row}"]
        if formula is not None or re.fullmatch(r"-?[\d.]+(E[-+]?\d+)?", value or ""):
            found.setdefault(book.cells[sheet, f"A{row}"][1], book.number(sheet, f"B{row}"))
    return found


def test_more_than_fits_leaves_nothing_and_less_leaves_some(points):
    full = changed(Book(report_xlsx(points["8b"], WORDS)), {"C": 400})
    got = {label: full.number(full.names[1], f"C{row}") for row, label in ledger_rows(full)}
    assert got[WORDS("ledger.kv_cache_spare")] == got[WORDS("ledger.outside")] == 0
    assert got[WORDS("reports.sum")] > got[WORDS("report.ledger.budget_bytes")]
    unfit = changed(Book(report_xlsx(points["unfit"], WORDS)), {"C": 1, "M_d": 48 * 2**30})
    got = {label: unfit.number(unfit.names[1], f"C{row}") for row, label in ledger_rows(unfit)}
    budget = math.floor(points["unfit"].scenario.engine.gpu_memory_utilization * 48 * 2**30)
    assert got[WORDS("report.ledger.budget_bytes")] == budget
    assert got[WORDS("reports.sum")] == pytest.approx(budget, abs=1)
    assert got[WORDS("ledger.kv_cache_spare")] > 2**30
    assert got[WORDS("ledger.outside")] == 48 * 2**30 - budget


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_follows_from_an_input_is_a_formula(points, name):
    """No number is there twice: a cell that says what another works out refers to it."""
    book = Book(report_xlsx(points[name], WORDS))
    working, ledger = book.names[2], book.names[1]
    worked = {float(v) for (s, _), (f, v) in book.cells.items() if s == working and f and float(v) > 1e6}
    for (sheet, cell), (formula, value) in book.cells.items():
        if cell[0] != "C" or formula is not None or not re.fullmatch(r"\d+(\.\d+)?", value or ""):
            continue
        assert sheet != ledger, cell
        assert float(value) not in worked, cell


def test_the_summary_has_numbers_and_units(points):
    book = Book(report_xlsx(points["32b"], WORDS))
    sheet = book.names[0]
    told = summary_of(book)
    speed = points["32b"].speed
    name = WORDS("derivation.titles.time_to_first_token")
    assert told[name] == pytest.approx(speed.time_to_first_token.expected)
    row = next(c[1:] for (s, c), (_, v) in book.cells.items() if s == sheet and v == name and c[0] == "A")
    assert book.cells[sheet, f"C{row}"][1] == "s"
    assert float(book.cells[sheet, f"D{row}"][1]) == pytest.approx(speed.time_to_first_token.low)
    assert told[WORDS.field("workload.prompt_tokens")] == 4096
    assert told[WORDS("compare.results.price")] > 100
    texts = [v for (s, c), (_, v) in book.cells.items() if s == sheet and c[0] in "BDEF" and v]
    assert not any(re.fullmatch(r"[\d.,]+ (s|ms|GiB|tok/s|req/s|W)", text) for text in texts)


@pytest.mark.parametrize("name", ["8b", "32b", "v3", "rate"])
def test_the_numbers_of_the_curves_are_of_whole_users(points, name):
    for picture in report_of(points[name], WORDS, with_advice=False).pictures:
        for head, values in picture.columns:
            if head == WORDS("reports.axes.users"):
                assert len(values) > 3, picture.key
                assert all(value == int(value) for value in values), picture.key


def drawn(svg, kind, **attributes):
    """The elements of a kind that have the attributes."""
    found = [e for e in ET.fromstring(svg).iter() if e.tag.endswith("}" + kind)]
    return [e for e in found if all(e.get(key) == value for key, value in attributes.items())]


def polyline(element):
    return [tuple(map(float, pair.split(","))) for pair in element.get("points").split()]


def test_more_users_than_fit_are_on_the_curves_of_the_report(points):
    crowded = estimate(with_values(points["32b"].scenario, {"workload.prompt_tokens": 16384}))
    pictures = {one.key: one.svg for one in report_of(crowded, WORDS, with_advice=False).pictures}
    for key in ("memory_over_users", "throughput_latency"):
        (ring,) = drawn(pictures[key], "circle", r="4")
        at = float(ring.get("cx")), float(ring.get("cy"))
        assert at[0] < 540  # inside of the axes, which end at 544
        (beyond,) = drawn(pictures[key], "polyline", **{"stroke-dasharray": "4 3"})
        assert polyline(beyond)[-1] == pytest.approx(at, abs=0.11)
    budget = next(
        float(e.get("y1"))
        for e in drawn(pictures["memory_over_users"], "line", **{"stroke-dasharray": "4 3"})
        if e.get("y1") == e.get("y2")
    )
    for curve in drawn(pictures["memory_over_users"], "polyline"):
        assert min(y for _, y in polyline(curve)) >= budget - 0.11  # down is more: none passes it


def test_of_what_does_not_start_the_report_marks_the_users_that_it_counts(points):
    unfit = estimate(with_values(points["8b"].scenario, {"workload.prompt_tokens": 120_000}))
    picture = next(p for p in report_of(unfit, WORDS, with_advice=False).pictures if "memory" in p.key)
    (ring,) = drawn(picture.svg, "circle", r="4")
    at = float(ring.get("cx")), float(ring.get("cy"))
    own = polyline(drawn(picture.svg, "polyline")[0])
    assert any(point == pytest.approx(at, abs=0.5) for point in own)


def test_every_tick_of_a_report_s_picture_has_its_number():
    svg = draw(Chart("t", "milliseconds per output token", "y", [Curve("", (0, 90), (0, 1))]))
    ticks_drawn = [
        float(e.get("x1")) for e in drawn(svg, "line") if e.get("x1") and e.get("x1") == e.get("x2")
    ]
    numbers = [float(e.get("x")) for e in drawn(svg, "text", **{"text-anchor": "middle"})]
    assert numbers == ticks_drawn


def test_names_in_a_workbook_are_text(points):
    book = Book(report_xlsx(points["nasty"], WORDS))
    assert NASTY in book.texts
    assert not any(formula and "HYPERLINK" in formula for formula, _ in book.cells.values())


@pytest.mark.parametrize("kind", ["html", "md", "csv", "xlsx"])
def test_the_command_writes_a_file(samples, tmp_path, kind, capsys):
    out = tmp_path / f"report.{kind}"
    assert cli.main(["report", str(samples[0]), "--out", str(out)]) == 0
    assert out.stat().st_size > 3000
    first = out.read_bytes()
    assert cli.main(["report", str(samples[0]), "--out", str(out)]) == 0
    assert out.read_bytes() == first or kind == "xlsx"
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "code"), [("r.doc", "report.kind"), ("r", "report.kind"), ("r.pdf", "report.pdf")]
)
def test_other_endings_are_refused_in_a_sentence(points, tmp_path, name, code):
    with pytest.raises(InferometerError) as caught:
        report_bytes(points["8b"], tmp_path / name, WORDS)
    assert caught.value.problems[0].code == code
    assert "{" not in WORDS.problem(caught.value.problems[0])


def test_ticks_are_round_and_inside():
    for low, high in ((0, 1), (0, 37), (0, 0.0012), (3, 5000)):
        found = ticks(low, high)
        assert 3 <= len(found) <= 8
        assert all(low - 1e-9 <= t <= high + 1e-9 for t in found)


def test_a_pdf_is_made_by_the_full_program(samples, tmp_path, capfd):
    from gui.main import main

    out = tmp_path / "report.pdf"
    assert main(["report", str(samples[0]), "--out", str(out)]) == 0
    data = out.read_bytes()
    assert b"Inter-Regular" in data and b"CJK" not in data  # or apostrophes are as wide as Chinese
    assert data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")
    assert data.count(b"/Type /Page\n") >= 2 or data.count(b"/Type /Page") >= 3
    assert main(["report", str(tmp_path / "none.json"), "--out", str(out)]) == 2
    assert "none.json" in capfd.readouterr().err


def test_shares_are_of_the_budget_as_in_the_window(points):
    """The lines of the budget fill it; what is left to the driver has no share."""
    point = points["8b"]
    table = report_of(point, Words("en")).ledger
    weights = point.ledger.bytes_of("weights") / point.ledger.budget_bytes
    shares = {row[0]: row[4] for row in table.rows}
    assert shares["Weights"] == f"{100 * weights:.1f} %"
    at = next(i for i in range(len(table.rows)) if table.is_sum(i))
    assert table.rows[at][4] == "100.0 %"
    assert all(row[4] == "" for row in table.rows[at + 1 :])


def test_addresses_end_where_the_sentence_goes_on():
    said = "A page (https://example.org/a_(b)/c.pdf), quoted; and https://example.org/d."
    found = re.findall(r'href="([^"]+)"', _with_links(said))
    assert found == ["https://example.org/a_(b)/c.pdf", "https://example.org/d"]
    assert without_stops("https://example.org/x),") == "https://example.org/x"


def test_targets_read_alike_everywhere(points):
    """A target that a person typed as 2 is never told as 2.00."""
    scenario = with_values(points["8b"].scenario, {"targets.time_to_first_token_s": 0.002})
    point = estimate(scenario)
    limit = show_limit(0.002)
    assert str(limit) == "2 ms"
    assert "2 ms" in Words("en").phrase(point.verdict.headline)
    assert "2.00 ms" not in Words("en").phrase(point.verdict.headline)
    assert "≤ 2 ms" in {row[3] for row in report_of(point, Words("en")).metrics.rows}


def test_a_report_names_what_is_set_and_no_more(points):
    """A dozen defaults of features that nobody asked for say nothing; set, they stand there."""
    scenario = points["8b"].scenario
    plain = dict(report_of(points["8b"], WORDS, with_advice=False).scenario.rows)
    special = {"engine.max_num_seqs": 64, "engine.max_loras": 2, "deployment.nodes": 1}
    set_ = dict(report_of(estimate(with_values(scenario, special)), WORDS, with_advice=False).scenario.rows)
    for path in ("engine.max_num_seqs", "engine.max_loras", "engine.lora_rank"):
        assert WORDS.field(path) not in plain and WORDS.field(path) in set_
    for path in ("deployment.nodes", "deployment.network_gbit_per_s", "speculative.kind"):
        assert WORDS.field(path) not in plain and WORDS.field(path) not in set_
    for path in ("workload.users", "engine.max_model_len", "precision.weights", "engine.version"):
        assert WORDS.field(path) in plain
    unsaid = estimate(with_values(points["llama"].scenario, {"engine.version": ""}))
    rows = dict(report_of(unsaid, WORDS, with_advice=False).scenario.rows)
    assert WORDS.field("engine.version") not in rows and all(rows.values())


def test_formulas_of_a_page_have_indices_and_powers(points):
    page = report_html(report_of(points["8b"], WORDS, with_advice=False), WORDS)
    assert "t<sub>d</sub>" in page
    assert not re.search(r"<td class=f>[^<]*\w_\w", page)


def test_a_curve_does_not_run_through_the_words_of_a_limit():
    curve = Curve("2K", (0.0, 1.0, 2.0), (0.0, 1.0, 2.0))
    drawn = draw(Chart("", "", "", [curve], ((1.5, "budget 21 GiB"),)))
    label = drawn.index("budget 21 GiB")
    assert drawn.index("<polyline") < drawn.rindex("<rect", 0, label) < label


def laid_out(point, language):
    from PySide6.QtGui import QGuiApplication, QImage

    from gui.exporting.paper import _laid_out, pieces_of
    from gui.exporting.pdf import _markup
    from gui.theme import load_fonts

    assert QGuiApplication.instance() is not None
    load_fonts()
    words = Words(language)
    report = report_of(point, words)
    screen = QImage(1, 1, QImage.Format.Format_RGB32)
    pictures = {one.key: None for one in report.pictures}
    document = _laid_out(report_html(report, words, _markup), "Inter", pictures, screen)
    return pieces_of(document), screen, document


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("name", ["8b", "32b"])
def test_no_row_of_a_pdf_is_cut_and_no_heading_ends_a_page(qapp, points, name, language):
    from gui.exporting.paper import HEIGHT, pages_of

    pieces, _screen, _document = laid_out(points[name], language)
    assert len(pieces) > 100
    assert all(a.bottom <= b.bottom for a, b in itertools.pairwise(pieces))
    pages = pages_of(pieces, HEIGHT)
    assert pages[0].top == pieces[0].top and pages[-1].bottom == pieces[-1].bottom
    assert all(a.bottom <= b.top + 0.01 for a, b in itertools.pairwise(pages))
    held = 0
    for page in pages:
        head = page.head.height() if page.head is not None else 0.0
        assert page.bottom - page.top + head <= HEIGHT + 0.01
        inside = [p for p in pieces if page.top - 0.01 <= p.top < page.bottom - 0.01]
        held += len(inside)
        assert all(p.bottom <= page.bottom + 4.0 for p in inside)  # padding of a row touches the next
        assert page is pages[-1] or not inside[-1].leads
    assert held == len(pieces)
    assert len(pages) <= 8


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("name", ["8b", "32b", "v3", "unfit"])
def test_short_tables_of_a_pdf_are_on_one_page(qapp, points, name, language):
    from PySide6.QtGui import QTextTable

    from gui.exporting.paper import HEIGHT, pages_of

    pieces, _screen, document = laid_out(points[name], language)
    pages = pages_of(pieces, HEIGHT)
    whole = 0
    for frame in document.rootFrame().childFrames():
        box = document.documentLayout().frameBoundingRect(frame)
        if isinstance(frame, QTextTable) and box.height() < 0.3 * HEIGHT:
            middle = [row for row in pieces if box.top() < (row.top + row.bottom) / 2 < box.bottom()]
            tops = {next(i for i, page in enumerate(pages) if row.top < page.bottom - 0.01) for row in middle}
            assert len(tops) == 1
            whole += 1
    assert whole >= 4


def test_what_is_said_above_a_table_of_a_pdf_stays_with_it(qapp, points):
    from gui.exporting.paper import pages_of

    crowded = estimate(with_values(points["32b"].scenario, {"workload.users": 64}))
    pieces, _screen, document = laid_out(crowded, "en")
    block = document.begin()
    while block.text() != WORDS("advice.title"):
        block = block.next()
    assert block.next().text().startswith("No single change")
    boxes = [document.documentLayout().blockBoundingRect(b) for b in (block, block.next())]
    heading, said = (next(p for p in pieces if abs(p.top - box.top()) < 0.01) for box in boxes)
    row = pieces[pieces.index(said) + 1]
    assert said.leads
    after = pieces[pieces.index(heading) - 2 :]
    height = said.bottom - after[0].top + 4.0  # the two just have room
    assert after[0].top + height < row.bottom
    first = pages_of(after, height)[0]
    assert first.bottom <= heading.top + 0.01


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_no_result_of_a_pdf_is_broken_between_number_and_unit(qapp, points, language):
    from PySide6.QtGui import QTextTable

    _pieces, _screen, document = laid_out(points["32b"], language)
    numbers = 0
    for table in document.rootFrame().childFrames():
        if not isinstance(table, QTextTable) or table.columns() != 5:
            continue
        for row in range(1, table.rows()):
            block = table.cellAt(row, 3).firstCursorPosition().block()
            if re.match(r"[\d.,]+\s\S+$", block.text()):
                assert block.layout().lineCount() == 1, block.text()
                numbers += 1
    assert numbers > 20


def test_words_of_a_chart_stand_apart():
    """The unit has its own line, and a curve's name leaves the operating point's word alone."""
    rising = Curve("16K", (1.0, 15.0, 18.0), (1.0, 80.0, 200.0))
    svg = draw(Chart("t", "x", "ms per token", [rising, Curve("2K", (1.0, 30.0), (1.0, 5.0))],
                     here=(15.0, 60.0, "16"), most_y=81.0))  # fmt: skip
    words = {
        said: (float(x), float(y))
        for x, y, said in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)<', svg)
    }
    assert words["80"][1] - words["ms per token"][1] >= 13
    (name, row), (mark, other) = words["16K"], words["16"]
    assert abs(row - other) >= 13 or abs(name - mark) >= 7.5 * 3


def test_the_head_of_a_table_is_said_again_on_the_next_page():
    from PySide6.QtCore import QRectF

    from gui.exporting.paper import Piece, pages_of

    head = QRectF(0, 0, 100, 10)
    rows = [Piece(0, 10, True), Piece(10, 20)] + [Piece(10 * n, 10 * n + 10, head=head) for n in range(2, 9)]
    pages = pages_of(rows, 45)
    assert [(p.top, p.bottom, p.head is not None) for p in pages] == [
        (0, 40, False),
        (40, 70, True),
        (70, 90, True),
    ]


def test_a_piece_taller_than_a_page_ends_with_it():
    from gui.exporting.paper import Piece, pages_of

    pages = pages_of([Piece(0, 10, True), Piece(10, 500), Piece(500, 520)], 100)
    assert all(p.bottom - p.top <= 100 for p in pages)
    assert pages[-1].bottom == 520


def test_names_of_curves_stand_apart_from_labels():
    """Two curves and a limit that end at one height: three labels, none over another."""
    curves = [Curve(name, (0.0, 1.0), (0.0, top)) for name, top in (("a", 9.9), ("b", 10.0), ("c", 10.1))]
    svg = draw(Chart("t", "x", "y", curves, ((10.0, "limit"),)))
    rows = [float(y) for y, name in re.findall(r'y="([\d.]+)"[^>]*>(a|b|c|limit)<', svg)]
    assert len(rows) == 4
    assert min(abs(p - q) for i, p in enumerate(rows) for q in rows[:i]) >= 12


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="reads the text back with poppler")
@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_the_text_of_a_pdf_can_be_searched(qapp, samples, tmp_path, language):
    from gui.exporting.pdf import report_pdf

    words, out = Words(language), tmp_path / "report.pdf"
    point = estimate(scenario_file.load(samples[1]))
    out.write_bytes(report_pdf(point, words))
    told = subprocess.run(["pdftotext", "-raw", out, "-"], capture_output=True, check=True).stdout.decode()
    first = next(key for key in metric_texts(report_of(point, words)) if " – " in key)
    assert first in told  # a range with its dash
    strange = {c for c in told if 0x2E80 <= ord(c) <= 0x2FDF or 0xF900 <= ord(c) <= 0xFAFF}
    assert not strange
    if language == "zh_CN":
        assert "用户" in told and "目标" in told


def metric_texts(report):
    return [cell for row in report.metrics.rows for cell in row]


def test_codes_of_radicals_become_those_of_ideographs_in_place():
    from gui.exporting.paper import with_plain_characters

    kept = b"/CIDInit /ProcSet findresource begin <0000> <2F64> [<2F3E> <2EC5> <7528> ] endcmap <2F64>"
    changed = with_plain_characters(kept)
    assert changed == kept.replace(b"<2F64> [<2F3E> <2EC5>", b"<7528> [<6237> <89C1>")


def test_a_sample_is_called_in_the_reader_s_language_and_others_by_their_own_name(points):
    assert report_of(points["32b"], Words("zh_CN")).name == "两张 RTX 3090 上的 Qwen3-32B"
    assert report_of(points["32b"], WORDS).name == "Qwen3-32B on two RTX 3090"
    assert report_of(points["nasty"], Words("zh_CN")).name == NASTY


def test_a_sample_with_other_devices_is_called_by_what_it_is_of_now(points):
    card = load_accelerator("RTX 5090")
    other = report_of(estimate(with_values(points["32b"].scenario, {"accelerator": card})), WORDS)
    assert other.name == "Qwen3-32B on 2 × RTX 5090"
    three = with_values(points["8b"].scenario, {"deployment.accelerators": 3})
    assert report_of(estimate(three), Words("zh_CN")).name == "3 × RTX 4090 上的 Llama-3.1-8B-Instruct"
    own = with_values(points["32b"].scenario, {"accelerator": card, "name": "Our cards"})
    assert report_of(estimate(own), WORDS).name == "Our cards"


@pytest.mark.parametrize("name", ["8b", "32b", "v3"])
def test_tokens_of_the_cache_are_told_to_the_token_as_in_compare(points, name):
    """What an engine prints at its start is laid beside it: three digits would not do."""
    point = points[name]
    told = {row[0]: row[1] for row in report_of(point, WORDS, with_advice=False).metrics.rows}
    shown = next(row for row in difference_table([point], only_differences=False) if row.key == "kv_tokens")
    assert told[WORDS("derivation.titles.kv_tokens")] == str(shown.cells[0].shown)
    assert f"{point.capacity.kv_tokens:,}" in told[WORDS("derivation.titles.kv_tokens")]


@pytest.fixture(scope="module")
def beside(points):
    names = ("32b", "32b two", "unfit")
    two = estimate(with_values(points["32b"].scenario, {"workload.users": 2}))
    found = (points["32b"], two, points["unfit"])
    series = [Series("ABC"[i], names[i], point) for i, point in enumerate(found)]
    return Comparison(tuple(series))


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("kind", ["html", "md", "csv", "xlsx"])
def test_a_report_of_a_comparison_has_its_table_and_its_curves(points, beside, tmp_path, kind, language):
    words = Words(language)
    data = report_bytes(points["32b"], tmp_path / f"x.{kind}", words, beside)
    alone = report_bytes(points["32b"], tmp_path / f"x.{kind}", words)
    texts = Book(data).texts if kind == "xlsx" else [data.decode("utf-8").replace("\\", "")]
    before = Book(alone).texts if kind == "xlsx" else [alone.decode("utf-8").replace("\\", "")]
    for name in ("32b two", "unfit", words("plots.compare_throughput.title")):
        if kind == "csv" and name not in ("32b two", "unfit"):
            name = "plot compare_throughput"
        if kind == "xlsx" or name != words("plots.compare_throughput.title"):
            assert any(name in text for text in texts), name
        assert not any(name in text for text in before), name
    if kind == "xlsx":
        book = Book(data)
        sheet = book.names[3]
        assert sheet == words("reports.sheets.compare")
        row = next(
            c[1:]
            for (s, c), (_, v) in book.cells.items()
            if s == sheet and v == words("compare.results.time_to_first_token")
        )
        for column, one in zip("CD", beside.series, strict=False):
            wanted = one.point.speed.time_to_first_token.expected
            assert book.number(sheet, f"{column}{row}") == pytest.approx(wanted)
    if kind == "html":
        assert texts[0].count("<svg") == before[0].count("<svg") + 4


def test_curves_of_a_comparison_lie_over_one_another(points, beside):
    """Those that start, each by its letter; one that does not start has memory alone."""
    pictures = {one.key: one for one in compared(beside, WORDS).pictures}
    for key, letters in (("compare_first_token", "AB"), ("compare_memory", "ABC")):
        assert [head[0] for head, _ in pictures[key].columns[::2]] == list(letters)
        ET.fromstring(pictures[key].svg)
        assert pictures[key].svg.count("<polyline") == len(letters)
    users, first = pictures["compare_first_token"].columns[:2]
    at = users[1].index(16.0)
    assert first[1][at] == pytest.approx(points["32b"].speed.time_to_first_token.expected)


def test_a_chinese_report_calls_figures_by_one_name(points):
    """The abbreviations are symbols of formulas there and nothing else."""
    page = report_markdown(report_of(points["32b"], Words("zh_CN")), Words("zh_CN"))
    before, _, _ = page.partition("## 推导")
    assert "首 token" in before and "每 token" in before and before != page
    assert "TTFT" not in before and "TPOT" not in before
