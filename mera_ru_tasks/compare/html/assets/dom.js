// Elements, texts and numbers. Data reach the page through textContent and setAttribute of the names below alone.
const { texts, data, russian } = JSON.parse(document.getElementById("summary").textContent);
const page = { language: navigator.language.startsWith("ru") ? "ru" : "en", measure: null };
const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function drawing(name, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

// A text of the interface, with {names} filled in one pass.
function say(key, values = {}) {
  return texts[page.language][key].replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

// A remark of the comparison, whose English text the data hold, in the page's language.
function told(text) {
  return page.language === "ru" && Object.hasOwn(russian, text) ? russian[text] : text;
}

function fixed(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return value.toLocaleString(texts[page.language].decimal, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function signed(value, digits = 3) {
  const text = fixed(Math.abs(value), digits);
  return (value < 0 ? "−" : "+") + text;
}

function interval(estimate) {
  const end = (value) => fixed(value).replace("-", "−");
  return `[${end(estimate.low)}; ${end(estimate.high)}]`;
}

function probability(value) {
  return value < 0.001 ? "< " + fixed(0.001) : "= " + fixed(value);
}

// Fill a select, keeping what was chosen where it is still there.
function fillSelect(select, options) {
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

const modelNumber = new Map(data.models.map((model, number) => [model.label, number]));
const colour = (model) => `var(--m${modelNumber.get(model) % 10})`;
const measureKey = (row) => JSON.stringify([row.metric, row.filter]);
const measureName = (row) => `${row.metric}, ${row.filter}`;

const isMean = (task) => task === "mean" || task.startsWith("mean ");

function taskName(task) {
  if (!isMean(task)) return task;
  const variants = task.slice(5);
  return say("mean") + (variants ? ` (${variants})` : "");
}
