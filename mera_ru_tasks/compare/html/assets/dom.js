// Elements, texts and numbers. Data enter the page only through textContent, and setAttribute with the names below.
const { texts, data, russian } = JSON.parse(document.getElementById("summary").textContent);
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

function button(text, action, attributes = {}) {
  const made = element("button", { type: "button", class: "quiet", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

// A text of the interface. All placeholders are replaced in one pass.
function translate(key, values = {}) {
  return texts[page.language][key].replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

// A note of the comparison in the language of the page. The data contain its English text.
function told(text) {
  return page.language === "ru" && Object.hasOwn(russian, text) ? russian[text] : text;
}

// A format is slow to create, and the first screen needs a thousand numbers.
const formats = {};

function fixed(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  return localized(value, digits, "negative");
}

// A number that rounds to 0 has no sign.
function localized(value, digits, signDisplay) {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay };
  const format = (formats[page.language + digits + signDisplay] ??= new Intl.NumberFormat(page.language, options));
  return format.format(value).replace("-", "−");
}

const counted = (number) => number.toLocaleString(page.language);
const signed = (value) => localized(value, 3, "exceptZero");
// Where the decimal sign is a comma, a comma cannot separate two numbers, too.
const interval = (estimate) => estimate.low === null ? "–" : `[${fixed(estimate.low)}${page.language === "ru" ? ";" : ","} ${fixed(estimate.high)}]`;
const probability = (value) => (value < 0.001 ? "< " + fixed(0.001) : "= " + fixed(value));

function shorten(text, most) {
  const characters = [...text];
  return characters.length <= most ? text : "…" + characters.slice(1 - most).join("");
}

// Fill a select element. Return its value: the requested value, or the first one if the report does not contain it.
function fillSelect(id, options, wanted) {
  const select = byId(id);
  select.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
  const found = options.some(([value]) => value === wanted) ? wanted : options.length ? options[0][0] : "";
  select.value = found;
  return found;
}

// Replace the content of an element. Details that the reader opened stay open if the new content contains them.
function replace(container, ...children) {
  const keyed = () => [...container.querySelectorAll("details[data-key]")];
  const known = new Map(keyed().map((details) => [details.dataset.key, details.open]));
  container.replaceChildren(...children.filter((child) => child !== null));
  for (const details of keyed()) if (known.get(details.dataset.key)) details.open = true;
}

function fold(key, summary, ...content) {
  return element("details", { "data-key": key }, element("summary", {}, summary), ...content);
}

// A text with marked ranges. A range is [start, end, class]. Ranges may overlap.
function marked(text, ranges) {
  const ends = [...new Set([0, text.length, ...ranges.flatMap(([start, end]) => [start, end])])].sort((one, other) => one - other);
  const made = document.createDocumentFragment();
  for (let number = 0; number + 1 < ends.length; number += 1) {
    const [start, end] = [ends[number], ends[number + 1]];
    const classes = ranges.filter((range) => range[0] <= start && range[1] >= end).map((range) => range[2]);
    const part = text.slice(start, end);
    made.append(classes.length ? element("mark", { class: [...new Set(classes)].join(" ") }, part) : part);
  }
  return made;
}

// Some browsers deny files on disk access to the clipboard. There, the older method works.
async function copy(text, pressed) {
  const label = pressed.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", {}, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    pressed.focus();
  }
  pressed.textContent = translate("copied");
  setTimeout(() => (pressed.textContent = label), 1500);
}

const modelNumber = new Map(data.models.map((model, number) => [model.label, number]));
const colour = (model) => `var(--m${modelNumber.get(model) % 10})`;
const measureName = (row) => `${row.metric}, ${row.filter}`;

// Scroll to a section, and let the keyboard go on from one of its elements.
function jump(section, target) {
  byId(section).scrollIntoView();
  target.focus({ preventScroll: true });
}

function dot(model) {
  const made = element("span", { class: "dot", "aria-hidden": "true" });
  made.style.background = colour(model);
  return made;
}

const means = new Set(data.means.map((row) => row.task));
const isMean = (task) => means.has(task);

function taskName(task) {
  if (!isMean(task)) return task;
  const variants = task.slice(5);
  return translate("mean") + (variants ? ` (${variants})` : "");
}
