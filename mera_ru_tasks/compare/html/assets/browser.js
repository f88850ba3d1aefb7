// The browser of samples: filters, a list that holds only the rows in sight, and one document whole.
const ITEM = 64;
const samples = { documents: [], shown: [], chosen: -1, ready: false };

async function unpack() {
  const packed = Uint8Array.from(atob(byId("packed-samples").textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { answer_fields: fields, documents, strings } = JSON.parse(await new Response(stream).text());
  const text = (place) => (place === null ? null : strings[place]);
  samples.documents = documents.map((document) => ({
    ...document,
    title: text(document.title),
    reference: text(document.reference),
    answers: document.answers.map((values) => {
      const answer = Object.fromEntries(fields.map((field, place) => [field, values[place]]));
      for (const field of ["response", "strict", "flexible"]) answer[field] = text(answer[field]);
      answer.prompt = answer.prompt.map(text);
      answer.verdicts = answer.verdicts.map(([judge, score, reason]) => ({ judge, score, reason: text(reason) }));
      return answer;
    }),
  }));
  samples.ready = true;
}

function stateOf(answer) {
  if (answer.right === null) return "none";
  if (answer.right) return "right";
  return answer.right_flexible ? "format" : "wrong";
}

const OUTCOMES = {
  any: () => true,
  right: (answers) => answers.some((answer) => answer.right === 1),
  wrong: (answers) => answers.some((answer) => answer.right === 0),
  format: (answers) => answers.some((answer) => stateOf(answer) === "format"),
  disagree: (answers, all) => new Set(all.filter((answer) => answer.right !== null).map((answer) => answer.right)).size > 1,
  unreadable: (answers) => answers.some((answer) => answer.answered === 0),
  judge: (answers) => answers.some((answer) =>
    answer.right !== null && answer.verdicts.some((verdict) => verdict.score !== null && (verdict.score === 1) !== (answer.right === 1))),
};

function renderFilters() {
  fillSelect(byId("sample-task"), [["", say("all")], ...data.tasks.map((task, place) => [String(place), task])]);
  const task = byId("sample-task").value;
  const types = samples.documents.filter((document) => task === "" || document.task === Number(task)).map((document) => document.type);
  const known = [...new Set(types.filter((type) => type !== null))].sort((one, other) => one - other);
  fillSelect(byId("sample-type"), [["", say("all")], ...known.map((type) => [String(type), String(type)])]);
  fillSelect(byId("sample-model"), [["", say("any")], ...data.models.map((model, place) => [String(place), model.label])]);
  fillSelect(byId("sample-outcome"), Object.keys(OUTCOMES).map((key) => [key, say(key)]));
}

function applyFilters() {
  if (!samples.ready) return;
  const [task, type, model, outcome] = ["task", "type", "model", "outcome"].map((name) => byId(`sample-${name}`).value);
  const words = byId("search").value.trim();
  const wanted = words ? new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "iu") : null;
  const fits = (document) => {
    if (task !== "" && document.task !== Number(task)) return false;
    if (type !== "" && document.type !== Number(type)) return false;
    const own = model === "" ? document.answers : document.answers.filter((answer) => answer.model === Number(model));
    if (!own.length || !OUTCOMES[outcome || "any"](own, document.answers)) return false;
    if (!wanted) return true;
    const found = (text) => text !== null && wanted.test(text);
    return found(document.reference) || own.some((answer) => found(answer.response) || answer.prompt.some(found)) || found(String(document.id));
  };
  samples.shown = samples.documents.filter(fits);
  samples.chosen = -1;
  byId("list-space").style.height = `${samples.shown.length * ITEM}px`;
  byId("list").scrollTop = 0;
  byId("sample-count").textContent = say("count", { n: samples.shown.length, all: samples.documents.length });
  document.querySelector(".browser").classList.remove("open");
  byId("detail").replaceChildren(element("p", { class: "empty" }, say(samples.shown.length ? "select" : "nothing")));
  renderList();
}

function renderList() {
  const list = byId("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ITEM) - 4);
  const last = Math.min(samples.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ITEM) + 4);
  byId("list-space").replaceChildren(...samples.shown.slice(first, last).map((document, offset) => item(document, first + offset)));
  if (samples.chosen >= 0) list.setAttribute("aria-activedescendant", `item-${samples.chosen}`);
  else list.removeAttribute("aria-activedescendant");
}

function item(document, place) {
  const marks = element("span", { class: "marks" });
  const states = document.answers.map((answer) => {
    const state = stateOf(answer);
    const name = `${data.models[answer.model].label}: ${say(`state_${state}`)}`;
    marks.append(element("i", { class: state, title: name }));
    return name;
  });
  const about = `${data.tasks[document.task]} · ${document.id}${document.type === null ? "" : ` · ${say("part_type", { x: document.type })}`}`;
  const made = element("div", { class: "item", role: "option", id: `item-${place}`, "aria-selected": String(place === samples.chosen),
    "aria-setsize": samples.shown.length, "aria-posinset": place + 1, "aria-label": `${about}. ${document.title}. ${states.join("; ")}` },
    element("div", { class: "line" }, element("span", {}, about), marks),
    element("div", { class: "text", lang: "ru" }, document.title));
  made.style.top = `${place * ITEM}px`;
  made.addEventListener("click", () => choose(place, true));
  return made;
}

function choose(place, open = false) {
  samples.chosen = place;
  const list = byId("list");
  if (place * ITEM < list.scrollTop) list.scrollTop = place * ITEM;
  if ((place + 1) * ITEM > list.scrollTop + list.clientHeight) list.scrollTop = (place + 1) * ITEM - list.clientHeight;
  renderList();
  renderDetail(samples.shown[place]);
  if (open) document.querySelector(".browser").classList.add("open");
}

function renderDetail(chosen) {
  const detail = byId("detail");
  const back = element("button", { type: "button", class: "quiet", id: "back" }, say("back"));
  back.addEventListener("click", () => {
    document.querySelector(".browser").classList.remove("open");
    byId("list").focus();
  });
  const prompts = new Set(chosen.answers.map((answer) => answer.prompt.join("")));
  const shared = prompts.size === 1;
  detail.replaceChildren(back, element("h3", {}, `${data.tasks[chosen.task]} · ${chosen.id}`));
  if (shared) detail.append(element("h4", {}, say("prompt")), box([...prompts][0]));
  detail.append(element("h4", {}, say("reference")), chosen.reference === null
    ? element("p", { class: "empty" }, say("closed")) : box(chosen.reference, "box reference"));
  for (const answer of chosen.answers) detail.append(answerView(answer, shared));
  detail.scrollTop = 0;
}

const box = (text, name = "box") => element("div", { class: name, lang: "ru" }, element("pre", {}, text));

function answerView(answer, shared) {
  const state = stateOf(answer);
  const label = data.models[answer.model].label;
  const dot = element("span", { class: "dot" });
  dot.style.background = colour(label);
  const tone = state === "right" || state === "format" ? "right" : state === "wrong" ? "wrong" : "";
  const head = element("header", {}, dot, element("b", {}, label), element("span", { class: `state ${tone}` }, say(`state_${state}`)));
  const facts = element("dl");
  const fact = (name, text) => facts.append(element("dt", {}, name), element("dd", text ? { lang: "ru" } : { class: "empty" }, text || say("read_nothing")));
  fact(say("read", { x: "strict-match" }), shorten(answer.strict, 300));
  fact(say("read", { x: "flexible-extract" }), answer.flexible);
  for (const verdict of answer.verdicts) {
    const score = verdict.score === null ? say("no_verdict") : fixed(verdict.score, 1);
    fact(say("verdict", { x: verdict.judge }).trim(), verdict.reason ? `${score}. ${verdict.reason}` : score);
  }
  const view = element("section", { class: "answer" }, head,
    answer.response.trim() ? box(answer.response) : element("p", { class: "empty" }, say("empty")), facts);
  if (!shared) view.append(element("details", {}, element("summary", {}, say("prompt_of", { model: label })), box(answer.prompt.join(""))));
  return view;
}

function moveBy(event) {
  const page = Math.max(1, Math.floor(byId("list").clientHeight / ITEM) - 1);
  const last = samples.shown.length - 1;
  const targets = { ArrowDown: samples.chosen + 1, ArrowUp: samples.chosen - 1, PageDown: samples.chosen + page, PageUp: samples.chosen - page, Home: 0, End: last };
  if (last < 0) return;
  if (event.key === "Enter" && samples.chosen >= 0) {
    choose(samples.chosen, true);
    byId("detail").focus();
  } else if (event.key in targets) choose(Math.min(last, Math.max(0, targets[event.key])));
  else return;
  event.preventDefault();
}
