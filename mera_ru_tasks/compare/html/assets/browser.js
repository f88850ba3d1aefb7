// The browser of documents: the filters, and a list that contains only the visible rows.
const ITEM = 64;
// The document shown last. On a phone, the list returns to its row.
let recent = null;

// A phone has room for either the list or the document. report.css has the same width.
const isNarrow = () => matchMedia("(max-width: 760px)").matches;

// The document to show: the document in the address, or else the first match on which models disagree.
function current() {
  const { shown, documents } = samples;
  const found = page.doc && documents.find((document) => document.key === page.doc);
  if (found) recent = found;
  return found || (shown.includes(recent) && recent) || shown.find((document) => RELATIONS.disagree(document.answers, rightIn(page))) || shown[0];
}

function renderFilters() {
  const models = order().map((model) => [model, model]);
  page.task = fillSelect("sample-task", [["", translate("all")], ...data.tasks.map((task) => [task, task])], page.task);
  const index = data.tasks.indexOf(page.task);
  const types = samples.documents.filter((document) => !page.task || document.task === index).map((document) => document.type);
  const known = [...new Set(types.filter((type) => type !== null))].sort((one, other) => one - other);
  const type = fillSelect("sample-type", [["", translate("all")], ...known.map((one) => [String(one), String(one)])], page.type);
  // The types are unknown until the documents are loaded.
  if (samples.ready) page.type = type;
  fillSelect("sample-a", [["", translate("any_model")], ...models], page.a);
  fillSelect("sample-b", [["", translate("any_model")], ...models], page.b);
  const outcomes = ["any", "pair", "disagree", "right", "wrong", "format", "unreadable", "judge"].filter((key) => data.models.length > 1 || !RELATIONS[key]);
  fillSelect("sample-outcome", outcomes.map((key) => [key, translate(`outcome_${key}`)]), page.outcome);
  fillSelect("scope", ["all", "responses"].map((key) => [key, translate(`scope_${key}`)]), page.scope);
  for (const id of ["sample-a", "sample-b"]) byId(id).closest("label").hidden = data.models.length < 2;
  if (document.activeElement !== byId("search")) byId("search").value = page.search;
  const used = ["task", "type", "a", "b", "outcome"].filter((name) => page[name] !== DEFAULTS[name]).length;
  byId("fold-filters").textContent = translate("filters") + (used ? ` (${used})` : "");
  byId("clear").hidden = !used && !page.search;
}

function renderSamples() {
  renderFilters();
  if (!samples.ready) return;
  samples.shown = samples.documents.filter(filterFor(page));
  byId("list-space").style.height = `${samples.shown.length * ITEM}px`;
  byId("sample-count").textContent = translate("count", { n: counted(samples.shown.length), all: counted(samples.documents.length) });
  renderLegend();
  reveal();
  renderList();
}

function renderLegend() {
  const states = ["right", "format", "wrong", "none"].map((state) => element("span", {}, mark(state), translate(`state_${state}`)));
  const models = order().map((model) => element("span", {}, dot(model), model));
  byId("states").replaceChildren(...states);
  byId("models").replaceChildren(...models);
}

function mark(state, model = null) {
  const made = element("i", { class: `mark ${state}` });
  if (model !== null) made.style.setProperty("--of", colour(model));
  return made;
}

function renderList() {
  const list = byId("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ITEM) - 4);
  const last = Math.min(samples.shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ITEM) + 4);
  const shown = current();
  const models = order();
  byId("list-space").replaceChildren(...samples.shown.slice(first, last).map((document, offset) => item(document, first + offset, document === shown, models)));
  const selected = list.querySelector("[aria-selected=true]");
  if (selected) list.setAttribute("aria-activedescendant", selected.id);
  else list.removeAttribute("aria-activedescendant");
}

function item(document, index, isSelected, models) {
  const marks = element("span", { class: "marks", "aria-hidden": "true" });
  const states = models.map((model) => {
    const answer = document.byModel[modelNumber.get(model)];
    const state = answer ? stateOf(answer) : "absent";
    const about = `${model}: ${translate(`state_${state}`)}`;
    const made = mark(state, model);
    made.title = about;
    marks.append(made);
    return about;
  });
  const about = aboutDocument(document);
  const title = text(document.title);
  const made = element("div", { class: "item", role: "option", id: `item-${index}`, "aria-selected": String(isSelected),
    "aria-setsize": samples.shown.length, "aria-posinset": index + 1, "aria-label": `${about}. ${title}. ${states.join("; ")}` },
    element("div", { class: "line" }, element("span", {}, about), marks),
    element("div", { class: "text", lang: "ru" }, marked(title, hits(title))));
  made.style.top = `${index * ITEM}px`;
  made.addEventListener("click", () => choose(index, { step: false }));
  return made;
}

// Scroll the list to the document on display.
function reveal() {
  const list = byId("list");
  const index = samples.shown.indexOf(current());
  if (index < 0) list.scrollTop = 0;
  else if (index * ITEM < list.scrollTop) list.scrollTop = index * ITEM;
  else if ((index + 1) * ITEM > list.scrollTop + list.clientHeight) list.scrollTop = (index + 1) * ITEM - list.clientHeight;
}

function choose(index, { step = true } = {}) {
  if (samples.shown[index]) go({ doc: samples.shown[index].key }, { step });
}

// Return from the document to its row in the list. On a phone, the document covers the list.
function leave() {
  if (isNarrow()) go({ doc: "" });
  byId("list").focus();
}

function moveBy(event) {
  const page = Math.max(1, Math.floor(byId("list").clientHeight / ITEM) - 1);
  const last = samples.shown.length - 1;
  const index = samples.shown.indexOf(current());
  const targets = { ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: last };
  if (last < 0) return;
  if (event.key === "Enter") {
    choose(index);
    byId("detail").focus();
  } else if (event.key in targets) choose(Math.min(last, Math.max(0, targets[event.key])));
  else return;
  event.preventDefault();
}

// Apply a filter that the reader changed. A document that no longer matches is closed. A pair needs two models.
function setFilter(change, how = {}) {
  const state = { ...page, ...change };
  if (state.outcome === "pair" && !(state.a && state.b)) {
    const models = order();
    change.a = state.a || models.find((model) => model !== state.b);
    change.b = state.b || models.find((model) => model !== change.a);
  }
  if ("task" in change) change.type = "";
  const fits = filterFor({ ...page, ...change });
  const open = samples.documents.find((document) => document.key === page.doc);
  if (open && !fits(open)) change.doc = "";
  go(change, how);
}
