"""Check a run before the model loads, so that a mistake costs seconds, not the run.

`check` is called for every run of our tasks from lm-eval's command line, when the tasks are known but the model is not
loaded yet. A run from Python (`simple_evaluate`) checks data and judge when it creates the tasks and the requests.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.harness import patches
from mera_ru_tasks.issues import Issue, JudgeError, MeraRuError, TaskError, errors
from mera_ru_tasks.textutil import suggest

if TYPE_CHECKING:
    from lm_eval.api.task import Task
    from lm_eval.config.evaluate_config import EvaluatorConfig
    from lm_eval.tasks import TaskManager

    from mera_ru_tasks.harness.task import MeraTask

logger = logging.getLogger("lm_eval.mera_ru_tasks")


def check(config: EvaluatorConfig, manager: TaskManager, *, keep_samples: bool | None = None) -> None:
    """Check a run of lm-eval's command line, and prepare our tasks.

    The tasks that are loaded here are not loaded again: `manager.load` returns them.

    Args:
        config: lm-eval's settings, in which `tasks` holds the names and configurations that lm-eval resolved.
        manager: the task manager of the run.
        keep_samples: how `mera-ru run` treats an `output_path` without `log_samples`: log the samples (True), or do
            not, as the user asked (False). None, under lm-eval's own command, keeps the setting and warns.

    Raises:
        TaskError: an option, the data or the judge has an error. The message lists all errors.
    """
    patches.hide_traceback_of_user_errors()
    ours = [spec for spec in config.tasks if patches.leads_to_our_task(spec, manager)]
    if not ours:
        return
    _keep_samples(config, keep_samples)
    issues = [*check_output(config), *check_model(config), *check_limit(config.limit)]
    _report(issues)
    tasks = _load(manager, ours, issues)
    _report(issues)
    sizes = {name: len(task.eval_docs) for name, task in tasks.items()}
    _report([*check_samples(config.samples, sizes, complete=len(ours) == len(config.tasks))])
    _report([*_check_tasks(_mera_tasks(tasks), config)])


def _report(issues: list[Issue]) -> None:
    """Log the warnings, raise TaskError if there is an error, and empty the list."""
    for issue in issues:
        if issue.severity != "error" and _is_first_process():
            logger.warning("%s", issue)
    found = errors(issues)
    issues.clear()
    if len(found) == 1:
        raise TaskError(str(found[0]))
    if found:
        raise TaskError(f"{len(found)} settings are wrong:" + "".join(f"\n- {issue}" for issue in found))


def _is_first_process() -> bool:
    return all(os.environ.get(name, "0") in ("", "0") for name in ("RANK", "LOCAL_RANK"))


# --- samples and output ----------------------------------------------------------------------------------------------

_LOST = "its responses cannot be scored again, judged, compared or submitted"


def _keep_samples(config: EvaluatorConfig, keep: bool | None) -> None:
    if keep and config.output_path:
        config.log_samples = True
    if not config.output_path:
        _warn(f"This run writes no file, because --output_path is missing: {_LOST}.")
    elif keep is None and not config.log_samples:
        _warn(f"This run does not keep the model's responses, because --log_samples is missing: {_LOST}.")


def _warn(text: str) -> None:
    if _is_first_process():
        logger.warning("%s", text)


def check_output(config: EvaluatorConfig) -> list[Issue]:
    """Check that lm-eval can write its results; by itself it reports a failure only after the run, in a warning."""
    if not config.output_path or not _is_first_process():
        return []
    from lm_eval.loggers.evaluation_tracker import GeneralConfigTracker
    from lm_eval.utils import sanitize_model_name

    path = Path(config.output_path)
    name = GeneralConfigTracker._get_model_name(config.model_args) or "model"
    folder = path.parent if path.suffix == ".json" else path / sanitize_model_name(name)
    try:
        _try_to_write(folder)
    except OSError as error:
        return [
            Issue(
                "unwritable-output",
                "error",
                f"--output_path {config.output_path}",
                f"cannot write to {folder}: {error.strerror or error}",
                "Choose another folder.",
            )
        ]
    return []


def _try_to_write(folder: Path) -> None:
    """Write a test file into a folder, created if needed; remove everything afterwards."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix="samples_"):
            pass
    finally:
        for parent in missing:
            with contextlib.suppress(OSError):  # never created, or another process uses it
                parent.rmdir()


# --- the model -------------------------------------------------------------------------------------------------------

_TRANSFORMERS = ("hf", "hf-auto", "huggingface")
_CHAT_SERVERS = ("local-chat-completions", "openai-chat-completions")
_SERVERS = (*_CHAT_SERVERS, "local-completions", "openai-completions")
_WITHOUT_LOGLIKELIHOODS = (*_CHAT_SERVERS, "anthropic-chat", "anthropic-chat-completions")
_HF = (("torch", "transformers", "accelerate", "peft"), "mera-ru-tasks[hf]")
_API = (("aiohttp", "tenacity", "requests", "tqdm"), "mera-ru-tasks[api]")
# The modules that each `--model` of lm-eval imports, and the packages to install. Others are left to lm-eval.
_NEEDED = {
    **dict.fromkeys((*_TRANSFORMERS, "hf-multimodal", "hf-mistral3", "steered"), _HF),
    **dict.fromkeys(_SERVERS, _API),
    "vllm": (("vllm",), "lm-eval[vllm]"),
    "vllm-vlm": (("vllm",), "lm-eval[vllm]"),
    "sglang": (("sglang",), "sglang[all]"),
    "litellm": (("litellm",), "lm-eval[litellm]"),
    "anthropic-chat": (("anthropic", *_API[0]), "anthropic lm-eval[api]"),
    "anthropic-chat-completions": (("anthropic", *_API[0]), "anthropic lm-eval[api]"),
    "openvino": (("optimum",), "lm-eval[optimum]"),
}
# The modules that an argument of the transformers backend needs.
_NEEDED_BY_ARGUMENT = {
    "gguf_file": (("gguf", "sentencepiece"), "gguf sentencepiece protobuf"),
    "load_in_4bit": (("bitsandbytes",), "bitsandbytes"),
    "load_in_8bit": (("bitsandbytes",), "bitsandbytes"),
    "gptqmodel": (("gptqmodel",), "lm-eval[gptqmodel]"),
}


def check_model(config: EvaluatorConfig) -> list[Issue]:
    """Check everything about the model that needs no loading: name, packages, folder, server, chat template."""
    from lm_eval.models import MODEL_MAPPING

    model, arguments = config.model, config.model_args
    if model not in MODEL_MAPPING and model not in _registered_models():
        return [
            Issue(
                "unknown-model",
                "error",
                f"--model {model}",
                "lm-eval has no such model type",
                f"{suggest(model, MODEL_MAPPING)} The name of the model goes into --model_args pretrained=…",
            )
        ]
    return [
        *_check_packages(model, arguments),
        *(_check_folder(arguments) if model in _TRANSFORMERS else ()),
        *(_check_server(model, arguments) if model in _SERVERS else ()),
        *_check_chat_template(config),
        *_check_token_limit_argument(arguments),
    ]


def _registered_models() -> Iterable[str]:
    from lm_eval.api.registry import model_registry

    return list(model_registry.keys())


def _check_packages(model: str, arguments: Mapping[str, Any]) -> Iterator[Issue]:
    needed = [(f"--model {model}", *_NEEDED[model])] if model in _NEEDED else []
    if model in _TRANSFORMERS:
        needed += [
            (f"--model_args {name}=…", *_NEEDED_BY_ARGUMENT[name])
            for name in _NEEDED_BY_ARGUMENT
            if arguments.get(name) not in (None, False)
        ]
    for location, modules, packages in needed:
        missing = [module for module in modules if find_spec(module) is None]
        if missing:
            names = " ".join(f'"{name}"' if "[" in name else name for name in packages.split())
            yield Issue(
                "missing-package",
                "error",
                location,
                f"needs packages that are not installed ({', '.join(missing)})",
                f"Run `pip install {names}`.",
            )


def _check_folder(arguments: Mapping[str, Any]) -> Iterator[Issue]:
    """Check a local model folder; a name from the hub, `organisation/model`, is left to transformers."""
    name = str(arguments.get("pretrained", ""))
    location = f"--model_args pretrained={name}"
    if not name:
        yield Issue("no-model", "error", "--model_args", "names no model", "Write `--model_args pretrained=MODEL`.")
    elif not Path(name).exists():
        if name.startswith(("/", "./", "../", "~")) or name.count("/") > 1:
            yield Issue("no-model", "error", location, "the folder does not exist")
    elif "gguf_file" in arguments:
        if not Path(name, str(arguments["gguf_file"])).is_file():
            yield Issue("no-model", "error", location, f"the folder has no file {arguments['gguf_file']}")
    elif not Path(name, "config.json").is_file():
        yield Issue(
            "no-model",
            "error",
            location,
            "the folder does not contain a model: config.json is missing",
            "Use the folder written by `save_pretrained` or by a download.",
        )


def _check_server(model: str, arguments: Mapping[str, Any]) -> Iterator[Issue]:
    url = arguments.get("base_url")
    if model.startswith("local-"):
        ending = "/chat/completions" if model in _CHAT_SERVERS else "/completions"
        example = f"http://localhost:8000/v1{ending}"
        if not url:
            yield Issue(
                "no-server",
                "error",
                f"--model {model}",
                "the server's address is missing",
                f"Write `--model_args model=NAME,base_url={example}`.",
            )
        elif not str(url).rstrip("/").endswith(ending):
            yield Issue(
                "server-address",
                "warning",
                f"--model_args base_url={url}",
                f"the address usually ends in {ending}, because lm-eval uses it unchanged",
            )
    elif not os.environ.get("OPENAI_API_KEY"):
        yield Issue("no-key", "error", f"--model {model}", "OPENAI_API_KEY is not set", "Set it to your API key.")


def _check_chat_template(config: EvaluatorConfig) -> Iterator[Issue]:
    if config.model in _CHAT_SERVERS and not config.apply_chat_template:
        yield Issue(
            "chat-template",
            "error",
            f"--model {config.model}",
            "chat servers expect messages, not plain text",
            "Add --apply_chat_template.",
        )
    if config.model in (*_TRANSFORMERS, "vllm") and config.apply_chat_template:
        name = str(config.model_args.get("tokenizer") or config.model_args.get("pretrained") or "")
        if "gguf_file" not in config.model_args and has_chat_template(name) is False:
            yield Issue(
                "chat-template",
                "error",
                "--apply_chat_template",
                f"the tokenizer of {name} has no chat template, so this is probably a base model",
                "Omit the option and use the `_prefill` tasks.",
            )


def has_chat_template(name: str) -> bool | None:
    """Return True if a tokenizer has a chat template, judging by its files on this machine.

    Args:
        name: a folder, or the name of a model on the hub, which is looked up in the hub's cache.

    Returns:
        None if the files do not show it.
    """
    folder = Path(name)
    if not name or not folder.is_dir():
        return None  # the hub's cache does not distinguish a missing file from one that was never requested
    if (folder / "chat_template.jinja").exists() or (folder / "chat_template.json").exists():
        return True
    if (folder / "additional_chat_templates").exists() or (folder / "tekken.json").exists():
        return None
    try:
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return bool(settings.get("chat_template")) if isinstance(settings, dict) else None


def _check_token_limit_argument(arguments: Mapping[str, Any]) -> Iterator[Issue]:
    if "max_gen_toks" in arguments:
        yield Issue(
            "unused-limit",
            "warning",
            f"--model_args max_gen_toks={arguments['max_gen_toks']}",
            "has no effect, because the tasks set their own limit",
            f"Write `--gen_kwargs max_gen_toks={arguments['max_gen_toks']}`.",
        )


# --- which documents -------------------------------------------------------------------------------------------------


def check_limit(limit: object) -> list[Issue]:
    """Check `--limit`; lm-eval runs all documents for 0 and fails after loading the model for a negative number."""
    if limit is None or (isinstance(limit, (int, float)) and 0 < limit < float("inf")):
        return []
    hint = "Write a number of documents, a share between 0 and 1, or omit the option to run all documents."
    return [Issue("limit", "error", f"--limit {limit}", "must be greater than 0", hint)]


def check_samples(samples: object, sizes: Mapping[str, int], *, complete: bool = True) -> list[Issue]:
    """Check `--samples`.

    Args:
        samples: the option's value: document indices by the name of a task, counted from 0.
        sizes: the number of documents of our tasks in this run.
        complete: True if these are all tasks of the run; lm-eval ignores other names and runs all documents.
    """
    if not samples:
        return []
    hint = "Write it like '{\"riddles_sample\": [0, 1, 2]}', or name a JSON file with this content."
    if not isinstance(samples, Mapping):
        return [Issue("samples", "error", "--samples", "is neither a JSON object nor a file", hint)]
    issues = []
    for name, indices in samples.items():
        if name in sizes:
            issues += check_indices(indices, sizes[name], f"--samples, task {name}")
        elif complete:
            hint = f"The tasks of this run: {', '.join(sizes)}."
            issues.append(
                Issue("samples", "error", f"--samples, task {name}", "is not a single task of this run", hint)
            )
    return issues


def check_indices(indices: object, size: int, location: str) -> list[Issue]:
    """Check the document indices of one task against its number of documents."""

    def issue(message: str) -> list[Issue]:
        return [Issue("samples", "error", location, message, f"Write a list of numbers from 0 to {size - 1}.")]

    if not isinstance(indices, (list, tuple)) or not indices:
        return issue("names no documents")
    wrong = [index for index in indices if type(index) is not int]
    if wrong:
        return issue(f"{wrong[0]!r} is not a document number")
    beyond = [index for index in indices if not 0 <= index < size]
    if beyond:
        return issue(f"there is no document {beyond[0]}: the task has {size}")
    return []


# --- the tasks -------------------------------------------------------------------------------------------------------


def _load(manager: TaskManager, specs: Iterable[Any], issues: list[Issue]) -> dict[str, Task]:
    """Load tasks, which checks every row of their data, and let `manager.load` return them in the run."""
    tasks: dict[str, Task] = {}
    ready: list[tuple[Any, list[Any]]] = []
    for spec in specs:
        try:
            loaded = manager.load([spec])
        except MeraRuError as error:
            issues.append(Issue("task", "error", "", str(error).removesuffix(".")))
            continue
        tasks |= loaded["tasks"]
        group = loaded.get("groups", {}).get(spec if isinstance(spec, str) else spec.get("group"))
        ready.append((spec, [group] if group is not None else list(loaded["tasks"].values())))
    load = manager.load

    def load_once(given: Any) -> Any:
        manager.load = load
        names = given if isinstance(given, list) else [given]
        return load([item for name in names for item in next((have for spec, have in ready if spec == name), [name])])

    manager.load = load_once
    return tasks


def _mera_tasks(tasks: Mapping[str, Task]) -> Iterator[MeraTask]:
    from mera_ru_tasks.harness.task import MeraTask

    return (task for task in tasks.values() if isinstance(task, MeraTask))


def _check_tasks(tasks: Iterable[MeraTask], config: EvaluatorConfig) -> Iterator[Issue]:
    """Check what depends on the tasks' documents: the shots and the judge."""
    tasks = list(tasks)
    ranked = [task.task_name for task in tasks if task.OUTPUT_TYPE == "multiple_choice"]
    if ranked and config.model in _WITHOUT_LOGLIKELIHOODS:
        yield Issue(
            "no-loglikelihoods",
            "error",
            f"--model {config.model}",
            f"chat servers return no log-likelihoods, which {', '.join(ranked)} need",
            "Use `local-completions`, `hf` or `vllm`, or the tasks without `_rank`.",
        )
        return
    checks: list[Callable[[], None]] = [functools.partial(task.check_shots, config.num_fewshot) for task in tasks]
    if not config.predict_only:
        checks += [task.check_judge for task in tasks]
    for one_check in checks:
        try:
            one_check()
        except MeraRuError as error:
            yield Issue("task", "error", "", str(error).removesuffix("."))
            if isinstance(error, JudgeError):  # the other tasks have the same judge
                return
