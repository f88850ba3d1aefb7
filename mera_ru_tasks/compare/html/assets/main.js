// Language, theme and event handlers.
const THEMES = ["auto", "light", "dark"];
const THEME_SIGNS = { auto: "◐", light: "○", dark: "●" };

function name(id, words) {
  byId(id).setAttribute("aria-label", words);
  byId(id).title = words;
}

function renderTexts() {
  document.documentElement.lang = page.language;
  for (const container of document.querySelectorAll("[data-text]")) container.textContent = translate(container.dataset.text);
  document.title = translate("title");
  byId("language").textContent = translate("language");
  name("language", translate("language_name"));
  byId("methods").replaceChildren(...texts[page.language].methods.map((words) => element("p", {}, words)));
  for (const [id, key] of [["sections", "sections"], ["list", "samples"], ["detail", "document"], ["board", "leaderboard"], ["pair-table", "pairs"], ["numbers", "all_numbers"]]) {
    byId(id).setAttribute("aria-label", translate(key));
  }
}

function renderTheme() {
  if (page.theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = page.theme;
  byId("theme").textContent = THEME_SIGNS[page.theme];
  name("theme", translate(`theme_${page.theme}`));
}

function renderRuns() {
  byId("choices").replaceChildren(...data.choices.map((words) => element("li", {}, told(words))));
  byId("problems").replaceChildren(...data.problems.map((words) => element("li", {}, told(words))));
  byId("problems-title").hidden = !data.problems.length;
}

// The sections to redraw when a part of the state changes. A new language redraws all of them.
const FILTERS = ["a", "b", "outcome", "task", "type", "search", "scope"];
const ORDER = ["measure", "sort"];
const VIEWS = [
  [renderTexts, []],
  [renderTheme, ["theme"]],
  [renderVerdicts, []],
  [renderBoard, ORDER],
  [renderPairs, [...ORDER, "a", "b"]],
  [renderIntervals, ORDER],
  [renderParts, [...ORDER, "partTask", "partBy", "partFilter"]],
  [renderGaps, ORDER],
  [renderSamples, [...ORDER, ...FILTERS]],
  [() => { reveal(); renderList(); }, ["doc"]],
  [renderDetail, [...ORDER, ...FILTERS, "doc"]],
  [renderRuns, []],
  [renderNumbers, []],
];

function render(changed) {
  for (const [view, causes] of VIEWS) if (changed.includes("language") || causes.some((cause) => changed.includes(cause))) view();
}

byId("language").addEventListener("click", () => go({ language: page.language === "ru" ? "en" : "ru" }));
byId("theme").addEventListener("click", () => go({ theme: THEMES[(THEMES.indexOf(page.theme) + 1) % THEMES.length] }, { step: true }));
for (const [id, key] of [["part-task", "partTask"], ["part-by", "partBy"], ["part-filter", "partFilter"], ["measure", "measure"]]) {
  byId(id).addEventListener("change", (event) => go({ [key]: event.target.value }));
}
for (const [id, key] of [["sample-task", "task"], ["sample-type", "type"], ["sample-a", "a"], ["sample-b", "b"], ["sample-outcome", "outcome"], ["scope", "scope"]]) {
  byId(id).addEventListener("change", (event) => setFilter({ [key]: event.target.value }));
}
for (const id of ["pair-a", "pair-b"]) {
  byId(id).addEventListener("change", () => setFilter({ a: byId("pair-a").value, b: byId("pair-b").value }));
}
let waiting = 0;
const search = () => {
  clearTimeout(waiting);
  setFilter({ search: byId("search").value.trim() }, { step: true });
};
byId("search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, 150);
});
byId("filters").addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
byId("clear").addEventListener("click", () => {
  byId("search").value = "";
  setFilter(Object.fromEntries(FILTERS.map((key) => [key, DEFAULTS[key]])));
  // The button is hidden now and cannot keep the focus.
  byId(isNarrow() ? "fold-filters" : "search").focus();
});
byId("fold-filters").addEventListener("click", (event) => {
  const open = byId("filters").classList.toggle("unfolded");
  event.target.setAttribute("aria-expanded", String(open));
});
byId("list").addEventListener("scroll", renderList, { passive: true });
byId("list").addEventListener("keydown", moveBy);
byId("detail").addEventListener("toggle", (event) => scrollBoxes(event.target), { capture: true });
byId("detail").addEventListener("keydown", (event) => {
  if (event.key === "Escape") leave();
});
// Browsers do not scroll to an element that is partly visible, and its focus ring would be cut off.
document.addEventListener("focusin", ({ target }) => {
  if (target.parentElement.closest("nav, .scroll, .detail") && target.matches(":focus-visible")) target.scrollIntoView({ block: "nearest", inline: "nearest" });
});
// The list also changes its size when a phone shows it again.
new ResizeObserver(renderList).observe(byId("list"));
// The address contains the view, so links within the page scroll without changing the address.
for (const link of document.querySelectorAll("nav a")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const section = link.hash.slice(1);
    const title = byId(section).querySelector("h2");
    title.tabIndex = -1;
    jump(section, title);
  });
}

Object.assign(page, stateFrom(location.hash));
render(["language"]);
if (typeof DecompressionStream === "undefined") byId("sample-count").textContent = translate("too_old");
else {
  byId("sample-count").textContent = translate("loading");
  // The documents follow this script in the file, so that the first screen does not wait for them.
  addEventListener("DOMContentLoaded", async () => {
    await unpack();
    renderSamples();
    renderPairs();
    renderDetail();
    if (page.doc || FILTERS.some((key) => page[key] !== DEFAULTS[key])) byId("samples").scrollIntoView();
  });
}
