// Language, theme, and what happens when.
const THEMES = ["auto", "light", "dark"];
const THEME_SIGNS = { auto: "◐", light: "○", dark: "●" };

function name(id, text) {
  byId(id).setAttribute("aria-label", text);
  byId(id).title = text;
}

function renderTexts() {
  document.documentElement.lang = page.language;
  for (const place of document.querySelectorAll("[data-text]")) place.textContent = say(place.dataset.text);
  document.title = say("title");
  byId("language").textContent = say("language");
  name("language", say("language_name"));
  const theme = document.documentElement.dataset.theme || "auto";
  byId("theme").textContent = THEME_SIGNS[theme];
  name("theme", say(`theme_${theme}`));
  byId("methods").replaceChildren(...texts[page.language].methods.map((text) => element("p", {}, text)));
  byId("list").setAttribute("aria-label", say("samples"));
}

function renderRuns() {
  byId("choices").replaceChildren(...data.choices.map((text) => element("li", {}, told(text))));
  byId("problems").replaceChildren(...data.problems.map((text) => element("li", {}, told(text))));
  byId("problems-title").hidden = !data.problems.length;
}

function renderMeasured() {
  page.measure = byId("measure").value;
  renderBoard();
  renderIntervals();
}

function renderAll() {
  renderTexts();
  renderRuns();
  renderVerdicts();
  fillSelect(byId("measure"), measures());
  renderMeasured();
  renderParts();
  renderGaps();
  renderFilters();
  applyFilters();
  renderNumbers();
}

byId("language").addEventListener("click", () => {
  page.language = page.language === "ru" ? "en" : "ru";
  renderAll();
});
byId("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const next = THEMES[(THEMES.indexOf(root.dataset.theme || "auto") + 1) % THEMES.length];
  if (next === "auto") delete root.dataset.theme;
  else root.dataset.theme = next;
  renderTexts();
});
byId("measure").addEventListener("change", renderMeasured);
for (const id of ["part-task", "part-by", "part-pipeline"]) byId(id).addEventListener("change", renderParts);
for (const id of ["sample-task", "sample-type", "sample-model", "sample-outcome"]) {
  byId(id).addEventListener("change", () => {
    renderFilters();
    applyFilters();
  });
}
let waiting = 0;
byId("search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(applyFilters, 150);
});
byId("filters").addEventListener("submit", (event) => {
  event.preventDefault();
  applyFilters();
});
byId("list").addEventListener("scroll", renderList, { passive: true });
byId("list").addEventListener("keydown", moveBy);
addEventListener("resize", renderList);

renderAll();
byId("sample-count").textContent = say("loading");
if (typeof DecompressionStream === "undefined") byId("sample-count").textContent = say("too_old");
else unpack().then(() => {
  renderFilters();
  applyFilters();
});
