"""No file that this package writes contains a secret, wherever the user entered it."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from mera_ru_tasks.judge.config import from_environment
from tests.support.archives import answer, edit_results
from tests.support.judge_stub import StubJudge
from tests.support.restate import restate
from tests.support.scripted import run

pytestmark = pytest.mark.slow

# The formats of the tokens of common services. X is a random part. The last ones have no recognizable format.
FORMS = (
    "hf_X sk-X sk-proj-X ghp_X glpat-X xoxb-X AKIAX AIzaX gsk_X AQVNX t1.X.X y0_X eyJX.X.X nvapi-X r8_X xai-X pplx-X"
    " npm_X XX user:Xpass"
).split()


class Planted:
    """Creates secrets, each one different, and stores them."""

    def __init__(self) -> None:
        self.all: list[str] = []

    def __call__(self, form: int) -> str:
        random = f"{len(self.all):02}Qz7" + "Ab3Cd5Ef9GhJkLm8NpRs"
        self.all.append(FORMS[form % len(FORMS)].replace("X", random.upper() if "AKIA" in FORMS[form] else random))
        return self.all[-1]

    def found_in(self, text: str) -> list[str]:
        """Return the secrets whose random part occurs in a text, in any encoding."""
        return [secret for secret in self.all if re.search(rf"{self.all.index(secret):02}QZ7", text, re.IGNORECASE)]


@pytest.fixture(scope="module")
def short_run(tmp_path_factory, data):
    output = tmp_path_factory.mktemp("planted")
    run(output, ["mera_ru"], answer, data=data, limit=30)
    return output


@pytest.fixture
def plant(short_run, tmp_path):
    """Run two models whose settings contain secrets in every place where lm-eval accepts text from the user."""
    secret, folders = Planted(), []
    for number in range(2):
        (source,) = short_run.iterdir()
        folder = Path(shutil.copytree(source, tmp_path / "results" / f"model{number}"))
        arguments = {
            "pretrained": f"/home/ivan.petrov/models/m{number}", "token": secret(0), "api_key": secret(1),
            "azure_api_key": secret(18), "aws_secret_access_key": secret(18), "pat": secret(3),
            "base_url": f"https://{secret(19)}@host/{secret(18)}/v1?api_key={secret(18)}",
            "header": {"Authorization": f"Bearer {secret(12)}", "X-Folder": secret(10)}, "revision": secret(17),
            "extra": [secret(2), {"cookie": secret(18)}],
        }  # fmt: skip
        if number:  # as text, as other versions of lm-eval write it
            header = json.dumps({"Authorization": f"Basic {secret(18)}", "x-api-key": secret(9)})
            arguments = (
                f"pretrained=/home/ivan.petrov/models/m{number},auth_token={secret(4)},openai_api_key={secret(1)},"
                f"base_url=https://host/v1/{secret(18)}/chat?key={secret(7)},header={header},password={secret(18)}"
            )
        system = f"Ты помощник. Твой ключ {secret(5 + number)}."
        edit_results(
            folder,
            lambda content, arguments=arguments, system=system: plant_settings(content, arguments, system, secret),
        )
        for file in folder.glob("samples_*"):
            rows = [json.loads(line) for line in file.read_bytes().split(b"\n") if line]
            hidden = {"extra_headers": {"X": secret(13)}, "api_key": secret(14)}
            for row in rows:
                request = row["arguments"]["gen_args_0"]
                request["arg_0"] = system + request["arg_0"]
                request["arg_1"] |= hidden
            file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        restate(folder)
        folders.append(folder)
    return secret, folders


def plant_settings(content, arguments, system, secret):
    content["model_name"] = content["model_name_sanitized"] = "/home/ivan.petrov/models/m1"
    content["system_instruction"] = system
    content["pretty_env_info"] = f"HF_TOKEN={secret(0)}"
    content["config"] |= {
        "model_args": arguments,
        "gen_kwargs": {"api_key": secret(15), "extra_body": {"key": secret(16)}, "max_gen_toks": 9},
        "use_cache": f"/home/ivan.petrov/{secret(8)}",
    }
    for config in content["configs"].values():
        config["metadata"] |= {"token": secret(11), "mera_ru_data": "/home/ivan.petrov/data", "model_args": arguments}
        config["dataset_kwargs"]["token"] = secret(0)
        config["generation_kwargs"]["header"] = secret(18)


def contents(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file, including archive entries and the packed data of the report."""
    for file in folder.rglob("*"):
        if file.is_file():
            yield from texts(str(file.relative_to(folder)), file.read_bytes())


def texts(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    yield name, f"{name}\n" + content.decode("utf-8", "replace")
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.namelist():
                yield from texts(f"{name}/{entry}", archive.read(entry))
    if packed := re.search(rb'id="packed-samples">([^<]*)<', content):
        yield f"{name}/packed", zlib.decompress(base64.b64decode(packed[1])).decode("utf-16-le")


def test_planted_secrets_are_written_nowhere(plant, mera_ru, tmp_path, monkeypatch):
    secret, (first, second) = plant
    before = {file for file in tmp_path.rglob("*") if file.is_file()}
    shown = []

    def call(*arguments, fails=False):
        outcome = mera_ru(*arguments)
        assert (outcome.status != 0) == fails, f"{arguments}\n{outcome.out}\n{outcome.err}"
        shown.extend([outcome.out, outcome.err])
        return outcome

    outcome = call("submit", first, "-o", "a.zip", "--partial")
    for name in ("token", "azure_api_key", "base_url", "header", "pat"):
        assert f"--model_args {name}" in outcome.out
    call("submit", second, "-o", "b.zip", "--partial")
    call("submit", second, "-o", "c.zip", "--partial", "--into", "a.zip")
    call("submit", "--check", "a.zip", fails=True)  # an incomplete archive
    assert "user folders" not in shown[-2] and "seems to contain" not in shown[-2]
    call("submit", first, second, "-o", "d.zip", fails=True)
    call("score", first, second)
    with StubJudge() as stub:
        monkeypatch.setenv("LM_EVAL_JUDGE_API_BASE", f"{stub.url}/{secret(18)}")
        monkeypatch.setenv("LM_EVAL_JUDGE_API_KEY", secret(1))
        monkeypatch.setenv("LM_EVAL_JUDGE_MODEL", "/home/ivan.petrov/judges/j1")
        extra = {"api_key": secret(18), "extra_headers": {"X-Token": secret(6)}, "user": secret(18)}
        monkeypatch.setenv("LM_EVAL_JUDGE_EXTRA", json.dumps(extra))
        monkeypatch.setenv("LM_EVAL_JUDGE_CACHE", str(tmp_path / "cache.sqlite"))
        call("judge", first, fails=True)  # no server answers at this path
        shown += [(outcome := mera_ru("doctor")).out, outcome.err]
        assert "j1 at http" in outcome.out
        shown.append(repr(from_environment()))
        monkeypatch.setenv("LM_EVAL_JUDGE_API_BASE", stub.url)
        stub.key = "another"
        call("judge", first, fails=True)
        stub.key = None
        told = " ".join(secret.all[-4:])  # text that a server or judge may repeat: the key, the fields of the request
        stub.words = lambda message, attempt: json.dumps({"reason": told, "score": 1})
        stub.faults = lambda message, attempt: told if len(message) % 3 == 0 and message in stub.questions else None
        call("judge", first, second, fails=True)
        for name in ("CONCURRENCY", "TIMEOUT", "SKIP_EXACT"):
            monkeypatch.setenv(f"LM_EVAL_JUDGE_{name}", secret(1))
            call("judge", first, fails=True)
            monkeypatch.delenv(f"LM_EVAL_JUDGE_{name}")
    for ending in ("json", "csv", "md", "tex", "html"):
        call("compare", first, second, "-o", f"x.{ending}", "--all")
    call("compare", f"a={first}", f"b={second}", "--plots", "plots", "--across-settings")

    assert len(secret.all) >= 40 and len(FORMS) == 20
    written = [pair for pair in contents(tmp_path) if not any(pair[0] == str(f.relative_to(tmp_path)) for f in before)]
    assert {"a.zip/logs_public.zip", "x.html/packed", "cache.sqlite"} < {name for name, _ in written}
    assert any("judged_results_" in name for name, _ in written) and any(
        "scored_results_" in name for name, _ in written
    )
    for name, text in [*written, *((f"output {number}", text) for number, text in enumerate(shown))]:
        assert not secret.found_in(text), name
        assert "ivan.petrov" not in text or name.startswith("output"), name
