"""Check a run before the model is loaded, so that a mistake costs seconds and not the whole run.

lm-eval's command line calls `check` for every run of this package's tasks, after the tasks are known and before the
model is loaded. Runs from Python (`simple_evaluate`) do not call it. They check the data when the tasks are created,
and the judge when the requests are built.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.harness import patches
from mera_ru_tasks.issues import Issue, JudgeError, MeraRuError, TaskError, errors
from mera_ru_tasks.secrets import hidden
from mera_ru_tasks.textutil import quoted, suggest

if TYPE_CHECKING:
    from lm_eval.api.task import Task
    from lm_eval.config.evaluate_config import EvaluatorConfig
    from lm_eval.tasks import TaskManager

    from mera_ru_tasks.harness.task import MeraTask

logger = logging.getLogger("lm_eval.mera_ru_tasks")


def check(config: EvaluatorConfig, manager: TaskManager, *, keep_samples: bool | None = None) -> None:
    """Check a run of lm-eval's command line, and load this package's tasks.

    Each task is loaded only once, because `manager.load` later returns the tasks that are loaded here.

    Args:
        config: lm-eval's settings. Their `tasks` are the names and configurations that lm-eval resolved.
        manager: the task manager of the run.
        keep_samples: what to do if `output_path` is set without `log_samples`. True logs the samples, as `mera-ru run`
            does by default. False does not log them, because the user set `--no-log-samples`. None, for lm-eval's own
            command, does not log them and warns.

    Raises:
        TaskError: an option, the data or the judge has an error. The message lists all errors of the failed step.
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
    """Log the warnings, empty the list, and raise TaskError if there is an error."""
    for issue in issues:
        if issue.severity != "error" and is_first_process():
            logger.warning("%s", issue)
    found = errors(issues)
    issues.clear()
    if len(found) == 1:
        raise TaskError(str(found[0]))
    if found:
        raise TaskError(f"{len(found)} settings are wrong:" + "".join(f"\n- {issue}" for issue in found))


def is_first_process() -> bool:
    """Return False in all processes of a distributed run but the first, which reports what all of them find."""
    return all(os.environ.get(name, "0") in ("", "0") for name in ("RANK", "LOCAL_RANK"))


# --- samples and output ----------------------------------------------------------------------------------------------

_LOST = "Its responses cannot be rescored, judged, compared or submitted."


def _keep_samples(config: EvaluatorConfig, keep: bool | None) -> None:
    if keep and config.output_path:
        config.log_samples = True
    if not config.output_path:
        _warn(f"This run writes no files, because --output_path is missing. {_LOST}")
    elif keep is None and not config.log_samples:
        _warn(f"This run does not log the model's responses, because --log_samples is missing. {_LOST}")


def _warn(text: str) -> None:
    if is_first_process():
        logger.warning("%s", text)


def check_output(config: EvaluatorConfig) -> list[Issue]:
    """Check that lm-eval can write its results. lm-eval itself only logs a warning after the run if it cannot."""
    if not config.output_path or not is_first_process():
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
    """Write a test file to a folder, which is created if it does not exist, and remove everything afterwards."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix="samples_"):
            pass
    finally:
        for parent in missing:
            with contextlib.suppress(OSError):  # the folder was never created, or another process uses it
                parent.rmdir()


# --- the model -------------------------------------------------------------------------------------------------------

_TRANSFORMERS = ("hf", "hf-auto", "huggingface")
_CHAT_SERVERS = ("local-chat-completions", "openai-chat-completions")
_SERVERS = (*_CHAT_SERVERS, "local-completions", "openai-completions")
_WITHOUT_LOGLIKELIHOODS = (*_CHAT_SERVERS, "anthropic-chat", "anthropic-chat-completions")
_HF = (("torch", "transformers", "accelerate", "peft"), "mera-ru-tasks[hf]")
_API = (("aiohttp", "tenacity", "requests", "tqdm"), "mera-ru-tasks[api]")
# The modules that each `--model` of lm-eval imports, and the packages to install. Other models are not checked.
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
# The modules that arguments of the transformers backend need, and the packages to install.
_NEEDED_BY_ARGUMENT = {
    "gguf_file": (("gguf", "sentencepiece"), "gguf sentencepiece protobuf"),
    "load_in_4bit": (("bitsandbytes",), "bitsandbytes"),
    "load_in_8bit": (("bitsandbytes",), "bitsandbytes"),
    "gptqmodel": (("gptqmodel",), "lm-eval[gptqmodel]"),
}


def check_model(config: EvaluatorConfig) -> list[Issue]:
    """Check what can be checked without loading the model: its name, packages, folder or repository, and server."""
    from lm_eval.models import MODEL_MAPPING

    model, arguments = config.model, config.model_args
    if model not in MODEL_MAPPING and model not in _registered_models():
        return [
            Issue(
                "unknown-model",
                "error",
                f"--model {model}",
                "lm-eval has no such model type",
                f"{suggest(model, MODEL_MAPPING)} Pass the name of the model as --model_args pretrained=MODEL.",
            )
        ]
    return [
        *_check_packages(model, arguments),
        *(_check_sources(arguments) if model in _TRANSFORMERS else ()),
        *(_check_server(model, arguments) if model in _SERVERS else ()),
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
                f"it needs packages that are not installed ({', '.join(missing)})",
                f"Run `pip install {names}`.",
            )


def _check_sources(arguments: Mapping[str, Any]) -> Iterator[Issue]:
    """Check the local folders and hub repositories from which the transformers backend loads."""
    if not arguments.get("pretrained"):
        yield Issue("no-model", "error", "--model_args", "`pretrained` is missing", "Add `pretrained=MODEL`.")
    for option in ("pretrained", "tokenizer", "peft", "delta"):
        name = arguments.get(option)
        location = f"--model_args {option}={name}"
        if not isinstance(name, str) or not name:
            continue
        if os.path.exists(name):  # noqa: PTH110 (`Path.exists` raises an error for a name that is too long)
            yield from _check_folder(name, arguments, location) if option == "pretrained" else ()
        elif name.startswith(("/", "./", "../", "~")) or name.count("/") > 1:
            yield Issue("no-model", "error", location, "the folder does not exist", "Correct the path.")
        else:
            yield from _check_repository(name, arguments, location)


def _check_folder(name: str, arguments: Mapping[str, Any], location: str) -> Iterator[Issue]:
    if "gguf_file" in arguments:
        if not Path(name, str(arguments["gguf_file"])).is_file():
            yield Issue("no-model", "error", location, f"the folder has no file {arguments['gguf_file']}")
    elif not Path(name, "config.json").is_file():
        yield Issue(
            "no-model",
            "error",
            location,
            "the folder contains no model, because config.json is missing",
            "Use a folder created by `save_pretrained` or by a download.",
        )


def _local_copy(name: str) -> str:
    return f"run `hf download {name}` on a machine with network access and pass the path of the copied folder."


def _check_repository(name: str, arguments: Mapping[str, Any], location: str) -> Iterator[Issue]:
    """Check that a hub repository is in the local cache or can be reached.

    Loading would find the same errors, but only after more than a minute of retries. The check
    sends one request for a file's metadata, as loading would. If the result is inconclusive, such as a server error,
    the check passes, and loading shows whether there is a problem.
    """
    from huggingface_hub import constants, hf_hub_url
    from huggingface_hub.errors import HTTPError  # from the installed HTTP client: requests or httpx
    from huggingface_hub.utils import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
        validate_repo_id,
    )

    def issue(message: str, hint: str) -> Issue:
        return Issue("no-model", "error", location, message, hint)

    try:
        validate_repo_id(name)
    except HFValidationError:
        yield issue("there is no such folder, and the hub allows no such name", "Correct the path or the name.")
        return
    if _is_cached(name, arguments):
        return
    if constants.HF_HUB_OFFLINE:
        reason = "it is neither a folder nor in the local cache, and HF_HUB_OFFLINE forbids downloads"
        yield issue(reason, f"Unset HF_HUB_OFFLINE, or {_local_copy(name)}")
        return
    revision = str(arguments.get("revision") or "main")
    try:
        _request_metadata(hf_hub_url(name, "config.json", revision=revision))
    except GatedRepoError:
        hint = f"Request access at {constants.ENDPOINT}/{name}, and set HF_TOKEN to your token or run `hf auth login`."
        yield issue("this repository is gated, and you have no access to it", hint)
    except RepositoryNotFoundError:
        hint = "Correct the name or the path. If the repository is private, set HF_TOKEN or run `hf auth login`."
        yield issue("there is no such folder, and the hub has no such repository", hint)
    except RevisionNotFoundError:
        yield issue(f"the repository has no revision {revision}", "Correct `revision`.")
    except HfHubHTTPError:
        return
    except (OSError, HTTPError) as error:
        reason = quoted(f"{type(error).__name__}: {error}", 160)
        yield issue(
            f"it is neither a folder nor in the local cache, and the hub cannot be reached ({reason})",
            f"Check the network connection, set HF_ENDPOINT to a mirror, or {_local_copy(name)}",
        )


def _request_metadata(url: str) -> None:
    """Request a file's metadata from the hub, and repeat the request once if there is no reply."""
    from huggingface_hub import get_hf_file_metadata
    from huggingface_hub.errors import HTTPError
    from huggingface_hub.utils import HfHubHTTPError

    try:
        get_hf_file_metadata(url)
    except HfHubHTTPError:
        raise
    except (OSError, HTTPError):
        time.sleep(1)
        get_hf_file_metadata(url)


def _is_cached(name: str, arguments: Mapping[str, Any]) -> bool:
    """Return True if the cache contains files of a repository. They may be incomplete."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    folder = repo_folder_name(repo_id=name, repo_type="model")
    # TRANSFORMERS_CACHE: before version 5, transformers had its own cache.
    caches = (arguments.get("cache_dir"), os.environ.get("TRANSFORMERS_CACHE"), constants.HF_HUB_CACHE)
    return any(cache and next(Path(cache, folder, "snapshots").glob("*/*"), None) for cache in caches)


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
                f"Set it, for example with `--model_args model=NAME,base_url={example}`.",
            )
        elif not str(url).rstrip("/").endswith(ending):
            yield Issue(
                "server-address",
                "warning",
                f"--model_args base_url={hidden(str(url))}",
                f"the address should usually end in {ending}, because lm-eval uses it unchanged",
            )
    elif not os.environ.get("OPENAI_API_KEY"):
        yield Issue("no-key", "error", f"--model {model}", "OPENAI_API_KEY is not set", "Set it to your API key.")


def has_chat_template(name: str) -> bool | None:
    """Return True if the files of a tokenizer contain a chat template, and False if they do not.

    Args:
        name: a folder, or the name of a model on the hub.

    Returns:
        None if the files do not say, or if `name` is not a folder.
    """
    folder = Path(name)
    if not name or not folder.is_dir():
        return None  # in the hub's cache, a file that does not exist looks like a file that was never requested
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
            "it has no effect, because the tasks set their own limit",
            f"Use `--gen_kwargs max_gen_toks={arguments['max_gen_toks']}` instead.",
        )


# --- which documents -------------------------------------------------------------------------------------------------


def check_limit(limit: object) -> list[Issue]:
    """Check `--limit`. For 0, lm-eval would run all documents. For a negative number, it would fail late."""
    if limit is None or (isinstance(limit, (int, float)) and 0 < limit < float("inf")):
        return []
    hint = "Pass a number of documents or a share between 0 and 1. To run all documents, omit the option."
    return [Issue("limit", "error", f"--limit {limit}", "it must be greater than 0", hint)]


def check_samples(samples: object, sizes: Mapping[str, int], *, complete: bool = True) -> list[Issue]:
    """Check `--samples`.

    Args:
        samples: the value of the option: a mapping from task names to document indices, which start at 0.
        sizes: a mapping from this package's tasks in the run to their numbers of documents.
        complete: True if the run has no other tasks. Only then is an unknown name reported; lm-eval would ignore it and
            run all documents.
    """
    if not samples:
        return []
    hint = "Pass a JSON object such as '{\"riddles_sample\": [0, 1, 2]}', or the path of a file with such an object."
    if not isinstance(samples, Mapping):
        return [Issue("samples", "error", "--samples", "the value is not a JSON object", hint)]
    issues = []
    for name, indices in samples.items():
        if name in sizes:
            issues += check_indices(indices, sizes[name], f"--samples, task {name}")
        elif complete:
            hint = f"The tasks of this run are {', '.join(sizes)}."
            issues.append(Issue("samples", "error", f"--samples, task {name}", "the run has no such task", hint))
    return issues


def check_indices(indices: object, size: int, location: str) -> list[Issue]:
    """Check the document indices of one task against its number of documents."""

    def issue(message: str) -> list[Issue]:
        return [Issue("samples", "error", location, message, f"Pass a list of numbers from 0 to {size - 1}.")]

    if not isinstance(indices, (list, tuple)) or not indices:
        return issue("it is not a list, or the list is empty")
    wrong = [index for index in indices if type(index) is not int]
    if wrong:
        return issue(f"{wrong[0]!r} is not a document number")
    beyond = [index for index in indices if not 0 <= index < size]
    if beyond:
        return issue(f"there is no document {beyond[0]}, because the task has {size} documents")
    return []


# --- the tasks -------------------------------------------------------------------------------------------------------


def _load(manager: TaskManager, specs: Iterable[Any], issues: list[Issue]) -> dict[str, Task]:
    """Load tasks, which checks every row of their data, and make `manager.load` return them later."""
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


def advice_for_base_model(tasks: Iterable[MeraTask]) -> str:
    """Return what to do with tasks for a base model, or an empty string if they already fit one."""
    advice = dict.fromkeys(task.for_base_model for task in tasks)
    return f"For a base model, {', and '.join(filter(None, advice))}." if any(advice) else ""


def _check_chat_template(config: EvaluatorConfig, tasks: Iterable[MeraTask]) -> Iterator[Issue]:
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
                f"Omit the option. {advice_for_base_model(tasks)}".rstrip(),
            )


def _check_tasks(tasks: Iterable[MeraTask], config: EvaluatorConfig) -> Iterator[Issue]:
    """Check what depends on the tasks: the kind of model, the chat template, the shots and the judge."""
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
    yield from _check_chat_template(config, tasks)
    checks: list[Callable[[], None]] = [functools.partial(task.check_shots, config.num_fewshot) for task in tasks]
    if not config.predict_only:
        checks += [task.check_judge for task in tasks]
    for one_check in checks:
        try:
            one_check()
        except MeraRuError as error:
            yield Issue("task", "error", "", str(error).removesuffix("."))
            if isinstance(error, JudgeError):  # all tasks have the same judge
                return
