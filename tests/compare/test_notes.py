"""Notes exist in both languages and contain no folder of the user's machine."""

import json
import re
import shutil
from pathlib import Path

import pytest

from mera_ru_tasks.compare import notes
from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.export import to_markdown
from mera_ru_tasks.compare.html import build
from mera_ru_tasks.scoring.metrics import STRICT
from tests.support.browser import Opened, in_browser
from tests.support.comparisons import MIDDLE, WEAK, log_file, results_file
from tests.support.restate import rehash, restate
from tests.support.scripted import run

TEXTS = Path(notes.__file__).with_suffix(".json")
DOCUMENT = {
    "instruction": "{question}", "inputs": {"question": "?"}, "outputs": "Снег", "meta": {"id": 1},
    "answer_format": {"choices": "", "max_choices": 0, "with_phrase": False},
}  # fmt: skip


@in_browser
def test_remarks_are_in_the_pages_language_and_name_no_folder(browser, results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    run(folder, ["riddles_sample"], model=f"{tmp_path}/models/other", num_fewshot=2, limit=12)
    log = log_file(folder, MIDDLE, "riddles_sample")
    log.write_bytes(log.read_bytes()[:-300])
    results_file(folder, "/models/local/strong-7b").unlink()
    file = tmp_path / "report.html"
    comparison = compare_runs([folder], baseline=WEAK)
    file.write_text(build(comparison), encoding="utf-8")
    for text in (file.read_text(encoding="utf-8"), to_markdown(comparison)):
        assert str(tmp_path) not in text
        assert "/models/local" not in text
    assert str(tmp_path) in str(comparison.choices[0]), "the terminal names the folder"
    shown = Opened(browser, file, locale="ru-RU")
    russian = {place: shown.page.inner_text(place) for place in ("#board-notes", "#choices", "#problems")}
    shown.page.click("#language")
    english = {place: shown.page.inner_text(place) for place in russian}
    shown.context.close()
    assert "число примеров: 2 против 0" in russian["#board-notes"]
    assert "the number of shots: 2 against 0" in english["#board-notes"]
    assert "12 из 60 заданий riddles_sample" in russian["#board-notes"]
    assert "12 of 60 documents of riddles_sample" in english["#board-notes"]
    assert "org/weak-160m: прогон 20" in russian["#choices"]
    for place, text in russian.items():
        words = re.sub(r"`.*?`|--\w+|[\w./-]*(_|\d)[\w./-]*|JSON|org/\w+|other", "", text)
        assert not re.findall(r"[A-Za-z]{3,}", words), place
        assert len(english[place].splitlines()) == len(text.splitlines())
        assert not re.findall("[а-яё]", english[place])


@pytest.mark.parametrize("key", json.loads(TEXTS.read_text(encoding="utf-8")))
def test_each_remark_has_both_languages_with_the_same_gaps(key):
    texts = json.loads(TEXTS.read_text(encoding="utf-8"))[key]
    assert texts.get("severity", "note") in ("note", "warning", "error")
    assert texts.get("hint", texts["message"]).keys() == texts["message"].keys() == {"en", "ru"}
    gaps = {language: set(re.findall(r"\{(\w+)[:}]", text)) for language, text in texts["message"].items()}
    # Errors of Python and of libraries exist only in English. The Russian text names the line and the file instead.
    assert gaps["en"] - {"error"} <= gaps["ru"]
    assert gaps["ru"] <= gaps["en"] | {"file", "line"}


@pytest.mark.parametrize(("number", "text"), [(1, "; 1 of them differs from"), (2, "; 2 of them differ from")])
def test_a_word_agrees_with_its_number(number, text):
    assert notes.note("differs", n=number).message.startswith(text)


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["org/x", "org/y"], ["org/x", "org/y"]),
        (["/home/me/models/x", "./y/"], ["x", "y"]),
        (["/a/x", "/b/x", "z/x"], ["a/x", "b/x", "z/x"]),
        (["/a/x", "a/x"], ["x (1)", "a/x"]),
        (["/models/x", "/mnt/models/x"], ["x (1)", "mnt/models/x"]),
        (["C:\\models\\x"], ["x"]),
        (["__root__.cache__x"], ["x"]),
    ],
)
def test_labels_show_as_little_of_a_path_as_tells_models_apart(names, labels, tmp_path):
    for number, name in enumerate(names):
        folder = tmp_path / f"run{number}"
        folder.mkdir()
        row = {"doc_id": 0, "prompt_hash": "p", "target_hash": "t", "filter": STRICT, "metrics": ["exact_match"]}
        row |= {"doc": DOCUMENT, "arguments": {"gen_args_0": {"arg_0": "?", "arg_1": {}}}, "exact_match": 1}
        row |= {"resps": [["Ответ: снег"]], "filtered_resps": ["Ответ: снег"]}
        date = f"2026-01-01T00-00-0{number}"
        log = folder / f"samples_riddles_sample_{date}.jsonl"
        log.write_text(json.dumps(rehash(row)) + "\n", encoding="utf-8")
        content = {"model_name": name, "results": {"riddles_sample": {}}, "n-samples": {"riddles_sample": {}}}
        (folder / f"results_{date}.json").write_text(json.dumps(content), encoding="utf-8")
        restate(folder)
    assert compare_runs([tmp_path]).models == labels
