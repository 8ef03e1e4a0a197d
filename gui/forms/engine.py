"""The Engine section: who serves, how the model is divided, and the settings of that engine."""

from collections.abc import Callable, Sequence
from functools import partial

from core.errors import InferometerError
from core.explain.ledger_names import has_cuda
from core.model.cache import recurrent_state_elements
from core.spec.architecture import LatentAttention
from core.spec.checks import drafts_of
from core.spec.scenario import Scenario
from core.words import Words
from gui.document import Document
from gui.fields.binder import ChoicesOf
from gui.fields.binder import build as bind
from gui.fields.choice_edit import ChoiceEdit
from gui.fields.row import Changes, FieldRow
from gui.forms import choices
from gui.forms.consequences import draft_changes, engine_changes, has_experts, layout_changes
from gui.forms.layouts import Layout, layout_of
from gui.forms.parts import Part
from gui.forms.row_group import Item, MoreRows, RowGroup, always
from gui.forms.stands_for import stands_for
from gui.widgets.copy_button import CopyButton


def build(document: Document, words: Words) -> Part:
    """Engine, parallelism, length, memory; the rest behind "More"."""
    fields = _Fields(document, words)
    main = RowGroup(fields.main())
    more = MoreRows(words("forms.more"), fields.more, fields.said)
    copy = CopyButton(words("forms.copy_command"), words("forms.copied"))
    copy.setToolTip(words("forms.copy_command_help"))
    copy.asked.connect(lambda: copy.put(_command(document.scenario)))

    def refresh(scenario: Scenario) -> None:
        main.refresh(scenario)
        more.refresh(scenario)
        copy.setEnabled(scenario.engine.name in _WITH_COMMAND)

    return Part("engine", [main, more], _summary, refresh, copy)


_WITH_COMMAND = ("vllm", "sglang", "trtllm", "llamacpp", "ollama")


def _command(scenario: Scenario) -> str:
    from core.importers.command_text import command_for  # needed when it is asked for

    try:
        return command_for(scenario)
    except InferometerError:
        return ""  # the button is not enabled for an engine that no command starts


class _Fields:
    """Makes the rows of the section."""

    def __init__(self, document: Document, words: Words) -> None:
        self._document = document
        self._words = words

    def _item(
        self,
        path: str,
        offered: ChoicesOf | None = None,
        when: Callable[[Scenario], bool] = always,
        changes: Changes | None = None,
        empty: str = "forms.engine_default",
        dot: bool = True,
    ) -> Item:
        own = stands_for(path, self._words, empty)
        make = partial(
            bind, self._document, path, self._words, choices=offered, changes=changes, placeholder=own
        )
        return Item(path, make, when, dot)

    def main(self) -> list[Item]:
        """What most people set."""
        item = self._item
        return [
            Item("engine.name", self._engine),
            Item("deployment.tensor_parallel", self._layout),
            item("deployment.expert_parallel", choices.expert_groups, when=_spread),
            item("deployment.attention_data_parallel", choices.attention_copies, when=_copied),
            item("engine.max_model_len", dot=False),
            item("engine.gpu_memory_utilization"),
            item("engine.mem_fraction_static"),
            item("engine.kv_cache_free_gpu_mem_fraction"),
            item("engine.n_gpu_layers", when=_on_gpu, empty="forms.all_layers"),
            item("engine.n_cpu_moe", when=lambda s: _on_gpu(s) and has_experts(s.model)),
            item("engine.static_cache", choices.on_off),
            item("engine.wired_limit_gib", empty="forms.system_default"),
        ]

    def more(self) -> list[RowGroup]:
        """What few set."""
        item, words = self._item, self._words
        return [
            RowGroup(
                [
                    item("engine.max_num_seqs", when=_by_sequences),
                    item("engine.max_batch_size"),
                    item("engine.max_num_batched_tokens"),
                    item("engine.chunked_prefill_size"),
                    item("engine.n_parallel"),
                    item("engine.n_batch"),
                    item("engine.n_ubatch"),
                    item("engine.block_size"),
                    Item("engine.enforce_eager", self._graphs),
                    item("engine.flash_attention", choices.auto_on_off("engine.flash_attention")),
                    item("engine.kv_unified", choices.auto_on_off("engine.kv_unified")),
                    item("engine.kv_on_host", choices.cache_places, when=_on_gpu),
                    item("engine.backend", choices.backends, when=_on_gpu),
                    item("engine.attention_max_batch_mib", when=_is_fork, empty="forms.no_limit"),
                    item("engine.max_mamba_cache_size", when=_with_states),
                    item("engine.calibration", choices.calibrations),
                ],
            ),
            RowGroup(
                [
                    item("speculative.kind", choices.drafts, when=_with_drafts, changes=draft_changes),
                    item("speculative.tokens", when=_drafting),
                    item("speculative.acceptance", when=_drafting),
                    item("speculative.draft_parameters", when=_own_draft),
                    item("speculative.draft_layers", when=_own_draft),
                    item("speculative.draft_cache_elements", when=_own_draft),
                ],
                words("forms.groups.speculative"),
            ),
            RowGroup(
                [
                    item("deployment.nodes", when=_several),
                    item("deployment.network_gbit_per_s", when=_networked),
                    Item("deployment.prefill_accelerators", self._prefill, _several),
                ],
                words("forms.groups.servers"),
            ),
            RowGroup(
                [item("engine.max_loras"), item("engine.lora_rank", when=lambda s: s.engine.max_loras > 0)],
                words("forms.groups.adapters"),
            ),
            RowGroup(
                [
                    item("host.memory_bandwidth_gbps", when=_on_host),
                    item("host.cores", when=_on_host),
                    item("host.gflops_per_core", when=_on_host),
                ],
                words("forms.groups.host"),
            ),
        ]

    def said(self, count: int) -> str:
        """How many settings differ from the engine's own."""
        return self._words("forms.more_set", count=count) if count else ""

    def _engine(self) -> FieldRow:
        editor = ChoiceEdit()
        words = self._words

        def show(scenario: Scenario) -> None:
            editor.set_choices(choices.engines(scenario, words))
            editor.set_value(choices.engine_of(scenario))

        def changes(scenario: Scenario, value: object) -> Sequence[tuple[str, object]]:
            return engine_changes(scenario, value)

        row = FieldRow(self._document, "engine.name", words, editor, show, changes)
        editor.chosen.connect(row.commit)
        return row

    def _prefill(self) -> FieldRow:
        """Devices for prompts are whole copies of the model: with one copy there is none to set apart."""
        words = self._words
        row = bind(self._document, "deployment.prefill_accelerators", words)
        row.why_not = lambda scenario: (
            "" if _several_copies(scenario) else words("forms.prefill_needs_copies")
        )
        row.refresh(self._document.scenario)
        return row

    def _graphs(self) -> FieldRow:
        """CUDA graphs are called so only where there is CUDA."""
        words = self._words
        row = bind(self._document, "engine.enforce_eager", words, choices=choices.graphs)

        def name(scenario: Scenario) -> str:
            own = words.field("engine.enforce_eager")
            return own if has_cuda(scenario.accelerator) else words("ledger.graphs_plain")

        row.label_for = name
        row.refresh(self._document.scenario)
        return row

    def _layout(self) -> FieldRow:
        editor = ChoiceEdit()
        words = self._words

        def show(scenario: Scenario) -> None:
            editor.set_choices(choices.layouts(scenario, words))
            editor.set_value(layout_of(scenario))

        def changes(scenario: Scenario, value: object) -> Sequence[tuple[str, object]]:
            assert isinstance(value, Layout)
            return layout_changes(scenario, value)

        row = FieldRow(self._document, "deployment.tensor_parallel", words, editor, show, changes)
        editor.chosen.connect(row.commit)
        return row


def _on_gpu(scenario: Scenario) -> bool:
    """Whether there is a GPU beside the processor that can do part of the work or none of it."""
    return scenario.accelerator.kind != "cpu"


def _by_sequences(scenario: Scenario) -> bool:
    """TensorRT-LLM calls them the batch, which has a row of its own."""
    return scenario.engine.name != "trtllm" or scenario.engine.max_num_seqs is not None


def _spread(scenario: Scenario) -> bool:
    place = scenario.deployment
    return place.expert_parallel > 1 or (place.tensor_parallel > 1 and has_experts(scenario.model))


def _copied(scenario: Scenario) -> bool:
    """Copies pay where the group would hold the same cache many times: latent attention, mixtures."""
    place, kinds = scenario.deployment, scenario.model.architecture.kinds
    latent = any(isinstance(g.token_mixer, LatentAttention) for g in kinds)
    useful = place.tensor_parallel > 1 and (latent or has_experts(scenario.model))
    return place.attention_data_parallel > 1 or useful


def _several(scenario: Scenario) -> bool:
    return scenario.deployment.accelerators > 1 or scenario.deployment.nodes > 1


def _networked(scenario: Scenario) -> bool:
    """Whether anything goes over the network between servers."""
    place, fast = scenario.deployment, scenario.accelerator.scale_up
    return place.nodes > 1 or place.group > max(8, fast.max_devices)


def _several_copies(scenario: Scenario) -> bool:
    place = scenario.deployment
    return place.prefill_accelerators > 0 or place.accelerators > place.group


def _with_states(scenario: Scenario) -> bool:
    return sum(recurrent_state_elements(scenario.model.architecture)) > 0


def _is_fork(scenario: Scenario) -> bool:
    return scenario.engine.version.startswith("ik")


def _with_drafts(scenario: Scenario) -> bool:
    """Whether there is anything to choose, or to take back."""
    return _drafting(scenario) or len(drafts_of(scenario.engine.name)) > 1


def _drafting(scenario: Scenario) -> bool:
    return scenario.speculative.kind != "none"


def _own_draft(scenario: Scenario) -> bool:
    draft = scenario.speculative
    module = draft.kind == "mtp" and bool(scenario.model.architecture.mtp_groups)
    return draft.kind not in ("none", "ngram") and not module


def _on_host(scenario: Scenario) -> bool:
    """Whether the host's memory or processor does part of the work."""
    engine, device = scenario.engine, scenario.accelerator
    offloaded = engine.n_gpu_layers is not None or engine.n_cpu_moe > 0 or engine.kv_on_host
    return offloaded and device.kind != "cpu" and not device.unified_memory


def _summary(scenario: Scenario, words: Words) -> str:
    engine = scenario.engine
    release = "" if engine.name == "textbook" else engine.version
    parts = [choices.engine_label(engine.name, release, words)]
    if scenario.deployment.accelerators > 1 or engine.name in ("vllm", "textbook"):
        parts.append(choices.layout_label(layout_of(scenario), words))
    if engine.name in ("vllm", "textbook"):
        parts.append(f"{engine.gpu_memory_utilization:.2f}")
    return " · ".join(parts)
