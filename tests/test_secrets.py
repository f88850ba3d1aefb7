"""Secret settings are recognized by their names, and secrets by their form."""

from __future__ import annotations

import pytest

from mera_ru_tasks.logs.find import Run
from mera_ru_tasks.logs.setting import parse_arguments, setting_of
from mera_ru_tasks.secrets import comparable_settings, is_secret_name, public_name, public_settings, secrets_in

VALUE = "zzq0123456789abcdefghij"


@pytest.mark.parametrize(
    "name",
    "token hf_token auth_token use_auth_token access_token bearer_token api_key apikey openai_api_key azure_api_key "
    "x-api-key aws_secret_access_key client_secret password db_password authorization Authorization cookie".split(),
)
def test_names_that_hold_secrets(name: str) -> None:
    assert is_secret_name(name)
    for written in (
        {name: VALUE},
        {"model_args": f"pretrained=x,{name}={VALUE},dtype=auto"},
        [{"config": {name: VALUE}}],
    ):
        assert VALUE in set(secrets_in(written)), written
    assert VALUE not in str(setting_of(run_with(f"pretrained=x,{name}={VALUE}")))


@pytest.mark.parametrize(
    "name",
    "tokenizer tokenizer_pad_token eos_token_id think_end_token max_gen_toks keyword pretrained num_tokens".split(),
)
def test_names_that_do_not(name: str) -> None:
    assert not is_secret_name(name)
    assert list(secrets_in({name: VALUE, "model_args": f"{name}={VALUE}"})) == []


@pytest.mark.parametrize(
    "text",
    [
        f'header={{"Authorization": "Bearer {VALUE}"}}', f"base_url=https://host/v1?api_key={VALUE}",
        f"base_url=https://user:{VALUE}@host/v1", f"note hf_{VALUE}", f"sk-proj-{VALUE}",
        f"ghp_{VALUE}", f"glpat-{VALUE}", f"xoxb-{VALUE}", "AKIA" + "A1B2C3D4E5F6G7H8", f"gsk_{VALUE}",
        f"Authorization: Basic {VALUE}",
    ],
)  # fmt: skip
def test_forms_of_secrets(text: str) -> None:
    found = list(secrets_in({"model_args": text}))
    assert any(VALUE in one or one.startswith("AKIA") for one in found), found


@pytest.mark.parametrize(
    ("name", "shown"),
    [("org/model", "org/model"), ("/home/me/models/m", "m"), ("__home__me__m", "m"), (r"C:\Users\me\m", "m"),
     ("./m/", "m"), (f"https://host/v1/{VALUE}", "https://host"), (f"org/hf_{VALUE}", "org/HIDDEN")],
)  # fmt: skip
def test_a_models_name_without_folders_and_secrets(name: str, shown: str) -> None:
    assert public_name(name) == shown


def test_settings_that_may_be_published() -> None:
    given = {"pretrained": "/home/me/m", "dtype": "auto", "until": ["/x", VALUE], "pat": VALUE, "max_gen_toks": 9}
    assert public_settings(given) == {"pretrained": "m", "dtype": "auto", "until": ["/x", VALUE], "max_gen_toks": 9}
    other = comparable_settings({**given, "pat": "another"})
    assert other["pat"] != comparable_settings(given)["pat"] and VALUE not in str(comparable_settings({"pat": VALUE}))


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ("pretrained=m,dtype=auto", {"pretrained": "m", "dtype": "auto"}),
        ('a=m,header={"a": "b=c", "d": "e"},x=1', {"a": "m", "header": '{"a": "b=c", "d": "e"}', "x": "1"}),
        (VALUE, {}), ({"a": 1}, {"a": 1}), (None, {}),
    ],
)  # fmt: skip
def test_arguments_as_text(arguments: object, settings: dict[str, object]) -> None:
    assert parse_arguments(arguments) == settings


def run_with(arguments: str) -> Run:
    class Known(Run):
        results = {"config": {"model_args": arguments}}  # noqa: RUF012
        config = results["config"]

    return Known.__new__(Known)


@pytest.mark.parametrize("command", ["score", "judge", "run"])
def test_a_crash_shows_no_secret(command, mera_ru, monkeypatch, tmp_path):
    variables = {"LM_EVAL_JUDGE_API_KEY": f"own-{VALUE}", "HF_TOKEN": f"other-{VALUE}"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LM_EVAL_JUDGE_API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LM_EVAL_JUDGE_MODEL", "x")

    def crash(*arguments, **options):
        raise RuntimeError(f"{variables}, model-{VALUE}, sk-{VALUE}")

    for name in ("mera_ru_tasks.logs.rescore.our_logs", "mera_ru_tasks.harness.patches.run_lm_eval"):
        monkeypatch.setattr(name, crash)
    arguments = ["--tasks", "x", "--model_args", f"api_key=model-{VALUE}"] if command == "run" else [tmp_path]
    outcome = mera_ru(command, *arguments)
    assert outcome.status == 1 and "RuntimeError" in outcome.err and "in crash" in outcome.err
    shown = outcome.out + outcome.err
    assert not any(secret in shown for secret in (*variables.values(), f"sk-{VALUE}"))
    assert command != "run" or f"model-{VALUE}" not in shown


def test_a_folder_named_like_a_token_is_not_printed(mera_ru, tmp_path):
    outcome = mera_ru("score", tmp_path / f"sk-{VALUE}")
    assert outcome.status == 1 and "HIDDEN does not exist" in outcome.err and VALUE not in outcome.err
