"""The judge's settings from the environment, and the message for each mistake."""

from __future__ import annotations

import pytest

from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.judge.config import NO_KEY, from_environment, judge_description

SET = {
    "LM_EVAL_JUDGE_API_BASE": "http://localhost:8000/v1/",
    "LM_EVAL_JUDGE_MODEL": "judge",
    "LM_EVAL_JUDGE_API_KEY": "sentinel-key",
    "HOME": "/home/user",
}


def test_defaults():
    settings = from_environment(SET)
    assert (settings.api_base, settings.model, settings.key) == ("http://localhost:8000/v1", "judge", "sentinel-key")
    assert (settings.concurrency, settings.skip_exact, settings.extra_fields) == (32, True, {})
    assert settings.cache.parts[-2:] == ("mera-ru-tasks", "judge.sqlite")


def test_every_option(tmp_path):
    settings = from_environment(
        SET
        | {
            "LM_EVAL_JUDGE_CONCURRENCY": "4",
            "LM_EVAL_JUDGE_TIMEOUT": "2.5",
            "LM_EVAL_JUDGE_CACHE": str(tmp_path / "cache"),
            "LM_EVAL_JUDGE_PROMPT": str(tmp_path / "prompt.jinja"),
            "LM_EVAL_JUDGE_EXTRA": '{"max_tokens": 100, "temperature": null}',
            "LM_EVAL_JUDGE_SKIP_EXACT": "off",
        }
    )
    assert (settings.concurrency, settings.timeout, settings.skip_exact) == (4, 2.5, False)
    assert (settings.cache, settings.prompt) == (tmp_path / "cache", tmp_path / "prompt.jinja")
    assert settings.extra_fields == {"max_tokens": 100, "temperature": None}


@pytest.mark.parametrize(
    "environment",
    [{}, {"OPENAI_API_KEY": "k"}, {"LM_EVAL_JUDGE_CACHE": "c", "OPENAI_API_KEY": "k"}, dict.fromkeys(SET, " ")],
    ids=["nothing", "a key for other uses", "an option alone", "blank"],
)
def test_not_configured(environment):
    assert from_environment(environment) is None


def test_the_key_may_be_openais():
    environment = {name: value for name, value in SET.items() if name != "LM_EVAL_JUDGE_API_KEY"}
    assert from_environment(environment | {"OPENAI_API_KEY": "other"}).key == "other"
    assert from_environment(SET | {"OPENAI_API_KEY": "other"}).key == "sentinel-key"


@pytest.mark.parametrize("name", ["LM_EVAL_JUDGE_API_BASE", "LM_EVAL_JUDGE_MODEL"])
def test_a_required_one_is_missing(name):
    with pytest.raises(JudgeError, match=name):
        from_environment({key: value for key, value in SET.items() if key != name})


def test_a_server_may_need_no_key():
    settings = from_environment({key: value for key, value in SET.items() if key != "LM_EVAL_JUDGE_API_KEY"})
    assert settings.key == NO_KEY and settings.redact("none of it") == "none of it"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LM_EVAL_JUDGE_API_BASE", "localhost:8000"),
        ("LM_EVAL_JUDGE_API_BASE", "ftp://host/v1"),
        ("LM_EVAL_JUDGE_API_BASE", "http://host/v1/chat/completions/"),
        ("LM_EVAL_JUDGE_API_BASE", "http://"),
        ("LM_EVAL_JUDGE_API_BASE", "http://host:port/v1"),
        ("LM_EVAL_JUDGE_API_BASE", "http://user:sentinel-key@host/v1"),
        ("LM_EVAL_JUDGE_API_BASE", "http://host/v1?key=sentinel-key"),
        ("LM_EVAL_JUDGE_API_KEY", "sentinel-key\nX-Header: 1"),
        ("LM_EVAL_JUDGE_API_KEY", "sentinel-key-ключ"),
        ("LM_EVAL_JUDGE_CONCURRENCY", "0"),
        ("LM_EVAL_JUDGE_CONCURRENCY", "-1"),
        ("LM_EVAL_JUDGE_CONCURRENCY", "many"),
        ("LM_EVAL_JUDGE_CONCURRENCY", "²"),
        ("LM_EVAL_JUDGE_TIMEOUT", "0"),
        ("LM_EVAL_JUDGE_TIMEOUT", "nan"),
        ("LM_EVAL_JUDGE_TIMEOUT", "inf"),
        ("LM_EVAL_JUDGE_EXTRA", "temperature=0"),
        ("LM_EVAL_JUDGE_EXTRA", "[1]"),
        ("LM_EVAL_JUDGE_EXTRA", '{"messages": []}'),
        ("LM_EVAL_JUDGE_SKIP_EXACT", "maybe"),
        ("LM_EVAL_JUDGE_PROMPT", "Оцени ответ.\nЭталон: {reference_answer}\nОтвет: {answer}"),
        ("LM_EVAL_JUDGE_PROMPT", "{instruction} {reference_answer} {answer}"),
        ("LM_EVAL_JUDGE_PROMPT", "Сравни {{ reference }} и {{ answer }}"),
    ],
)
def test_nonsense_is_an_error_that_names_the_variable_and_no_key(name, value):
    with pytest.raises(JudgeError, match=name) as error:
        from_environment(SET | {name: value})
    assert "sentinel-key" not in str(error.value)


def test_the_key_is_in_no_representation():
    assert "sentinel-key" not in repr(from_environment(SET))


def test_the_description_of_a_judge_holds_no_secret() -> None:
    settings = from_environment(
        {
            "LM_EVAL_JUDGE_API_BASE": "https://host:8443/tenant-key-1/v1",
            "LM_EVAL_JUDGE_MODEL": "judge",
            "LM_EVAL_JUDGE_EXTRA": '{"metadata": {"token": "extra-key-1"}}',
        }
    )
    assert settings is not None
    description = judge_description(settings)
    assert description["api_base"] == "https://host:8443"
    assert not any(secret in str(description) for secret in ("tenant-key-1", "extra-key-1"))
