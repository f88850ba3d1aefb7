// The state of the page, as flat text. The address contains the state, so that a link opens the same view. The browser
// remembers language, theme and measure for the next report.
const DEFAULTS = {
  language: navigator.language.startsWith("ru") ? "ru" : "en",
  theme: "auto",
  measure: data.rankings.length ? measureName(data.rankings[0]) : "",
  sort: "",
  partTask: "", partBy: "", partFilter: "",
  a: "", b: "", outcome: "any", task: "", type: "", search: "", scope: "all", doc: "",
};
const REMEMBERED = ["language", "theme", "measure"];
const MEMORY = "mera-ru-report";
// The theme belongs to the reader, so links do not contain it.
const IN_ADDRESS = Object.keys(DEFAULTS).filter((name) => name !== "theme");
const page = { ...DEFAULTS };

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(MEMORY)) || {};
  } catch {
    return {};
  }
}

function remember() {
  try {
    localStorage.setItem(MEMORY, JSON.stringify(Object.fromEntries(REMEMBERED.map((name) => [name, page[name]]))));
  } catch {
    // Some browsers forbid storage. The page works without it.
  }
}

function isKnown(name, value) {
  if (typeof value !== "string") return false;
  if (name === "language") return Object.hasOwn(texts, value);
  if (name === "theme") return THEMES.includes(value);
  if (name === "measure") return data.rankings.some((row) => measureName(row) === value);
  if (name === "a" || name === "b") return data.models.some((model) => model.label === value);
  if (name === "outcome") return Object.hasOwn(OUTCOMES, value) || Object.hasOwn(RELATIONS, value);
  return true;
}

// The initial state: the values in the address, then the remembered values, then the defaults.
function stateFrom(hash) {
  const state = { ...DEFAULTS };
  const memory = remembered();
  for (const name of REMEMBERED) if (isKnown(name, memory[name])) state[name] = memory[name];
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  for (const name of IN_ADDRESS) if (isKnown(name, given.get(name))) state[name] = given.get(name);
  return state;
}

// A link always contains language and measure, because its reader may have chosen different ones.
function addressOf(state) {
  const kept = IN_ADDRESS.filter((name) => state[name] !== DEFAULTS[name] || name === "language" || name === "measure");
  return "#" + new URLSearchParams(kept.map((name) => [name, state[name]]));
}

// Change the state. Key presses and typing replace the current entry of the browser history.
function go(change, { step = false } = {}) {
  const changed = Object.keys(change).filter((name) => page[name] !== change[name]);
  if (!changed.length) return;
  Object.assign(page, change);
  remember();
  history[step ? "replaceState" : "pushState"](null, "", addressOf(page));
  render(changed);
}

addEventListener("popstate", () => {
  const state = { ...stateFrom(location.hash), theme: page.theme };
  const changed = Object.keys(state).filter((name) => page[name] !== state[name]);
  Object.assign(page, state);
  render(changed);
});
