// The verdict, the leaderboard, pairs of models, the interval plots, and the table of all numbers.
const ALL_ROWS = [...data.means, ...data.scores];
const isChosen = (row) => measureName(row) === page.measure;

// The models from best to worst by the chosen measure, or in the order of the column by which the leaderboard is sorted.
// All lists of models on the page have this order.
function order() {
  const ranking = data.rankings.find(isChosen);
  const known = ranking ? ranking.models : [];
  const models = [...known, ...data.models.map((model) => model.label).filter((label) => !known.includes(label))];
  if (!page.sort) return models;
  const rows = ALL_ROWS.filter((row) => isChosen(row) && row.task === page.sort);
  const rank = (model) => {
    const row = rows.find((one) => one.model === model);
    return row ? (row.higher_is_better ? -1 : 1) * row.score.value : Infinity;
  };
  return models.map((model) => [rank(model), model]).sort(([one], [other]) => (one === other ? 0 : one - other)).map(([, model]) => model);
}

function ordered(rows) {
  const models = order();
  return [...rows].sort((one, other) => models.indexOf(one.model) - models.indexOf(other.model));
}

function renderVerdicts() {
  byId("verdicts").replaceChildren(...data.verdicts.flatMap((verdict) => [
    element("h2", {}, translate("verdict_of", { measure: told(verdict.measure) })),
    element("ul", { class: "plain" }, ...verdict.sentences.map((one) => element("li", {}, told(one.text)))),
  ]), data.verdicts.length && data.rankings.length > 1 ? element("p", { class: "hint" }, translate("verdict_lead")) : "");
}

// The signs of footnotes. They cannot be mistaken for digits of a number or letters of a group.
const SIGNS = ["†", "‡", "§", "¶", "‖"];

class Footnotes {
  constructor(rows) {
    this.signs = new Map();
    // A note that applies to all compared models is shown once, without a sign.
    const compared = rows.filter((row) => row.difference);
    this.common = compared.length > 2 ? (compared[0].notes || []).filter((text) => compared.every((row) => row.notes.includes(text))) : [];
  }

  mark(notes) {
    const text = notes.filter((one) => !this.common.includes(one)).map(told).join("; ");
    if (!text) return null;
    if (!this.signs.has(text)) this.signs.set(text, SIGNS[this.signs.size % SIGNS.length].repeat(1 + Math.floor(this.signs.size / SIGNS.length)));
    return element("sup", { class: "sign", title: text }, this.signs.get(text));
  }

  lines() {
    const common = this.common.length ? [translate("common_note", { notes: this.common.map(told).join("; ") })] : [];
    return [...[...this.signs].map(([text, sign]) => `${sign} ${text}`), ...common];
  }
}

// The header of a sortable column. `direction` is "ascending", "descending" or empty.
function sortable(text, direction, action, ...more) {
  const arrow = element("span", { class: "arrow", "aria-hidden": "true" }, direction === "ascending" ? "▲" : "▼");
  const sorter = element("button", { type: "button", class: "sorter" }, arrow, text);
  sorter.addEventListener("click", action);
  return element("th", { scope: "col", "aria-sort": direction || "none" }, sorter, ...more);
}

function renderBoard() {
  page.measure = fillSelect("measure", data.rankings.map((row) => [measureName(row), measureName(row)]), page.measure);
  const rows = ALL_ROWS.filter(isChosen);
  const tasks = [...new Set(rows.map((row) => row.task))];
  const footnotes = new Footnotes(rows);
  const head = element("tr", {}, element("th", { scope: "col" }, translate("model")), ...tasks.map((task) => boardHead(task, rows)));
  const lines = order().filter((model) => rows.some((row) => row.model === model)).map((model) => {
    const name = element("th", { scope: "row", class: "text" }, dot(model), model);
    return element("tr", {}, name, ...tasks.map((task) => boardCell(rows.find((row) => row.model === model && row.task === task), task, footnotes)));
  });
  byId("board").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines)));
  const notes = footnotes.lines();
  // A single comparison needs no correction.
  if (rows.some((row) => row.difference && row.difference.comparisons > 1)) notes.push(told(data.family));
  if (rows.some((row) => row.group)) notes.push(translate("groups_note"));
  byId("board-notes").replaceChildren(...notes.map((text) => element("li", {}, text)));
  byId("about").textContent = translate(data.models.length < 2 ? "about_one" : "about");
}

function boardHead(task, rows) {
  const own = rows.filter((row) => row.task === task);
  const sizes = [...new Set(own.map((row) => row.score.n))].sort((one, other) => one - other);
  const size = sizes.length > 1 ? `${sizes[0]}–${sizes[sizes.length - 1]}` : `${sizes[0]}`;
  const chance = own.find((row) => row.chance !== null);
  const isSorted = page.sort === task || (!page.sort && isMean(task) && task === rows[0].task);
  const direction = isSorted ? (own[0].higher_is_better ? "descending" : "ascending") : "";
  return sortable(taskName(task), direction, () => go({ sort: page.sort === task ? "" : task }),
    element("small", {}, translate(own[0].metric.startsWith("group_") ? "groups" : "documents", { n: size })),
    chance ? element("small", {}, translate("chance", { x: fixed(chance.chance) })) : null,
    outsideMean(task));
}

// A reader could expect every task of the table in its mean.
function outsideMean(task) {
  const hasMean = data.means.some(isChosen) && !isMean(task);
  return hasMean && !data.averaged.includes(task) ? element("small", {}, translate("not_in_mean")) : null;
}

function boardCell(row, task, footnotes) {
  if (!row) return element("td", { class: "absent" }, "–");
  // On a phone, the row is a card, and this label replaces the column header.
  const cell = element("td", {}, element("span", { class: "label" }, taskName(task), outsideMean(task) || ""),
    element("b", {}, fixed(row.score.value)), row.group ? element("sup", {}, row.group) : null,
    element("small", {}, interval(row.score), footnotes.mark(row.incomplete)));
  if (row.above_chance === false) cell.append(element("small", { class: "bad" }, translate("not_above_chance")));
  if (row.model === row.baseline) cell.append(element("small", {}, translate("baseline")));
  else if (row.difference) cell.append(differenceLine(row.difference, row.higher_is_better, footnotes.mark(row.notes)));
  else if (row.why_not) cell.append(element("small", {}, translate("not_compared"), footnotes.mark([row.why_not])));
  return cell;
}

function differenceLine(difference, higherIsBetter, sign = null) {
  const tested = difference.p_holm !== null;
  const sure = tested && difference.p_holm < 0.05;
  const up = difference.value > 0 === higherIsBetter;
  const p = tested ? `, ${translate(difference.comparisons > 1 ? "holm" : "p")} ${probability(difference.p_holm)}` : "";
  return element("small", { class: sure ? (up ? "good" : "bad") : "" }, `${sure ? (up ? "▲ " : "▼ ") : ""}${signed(difference.value)}${p}`, sign);
}

// The comparison of two models: those that the reader chose, or the two best.
function chosenPair() {
  const models = order();
  const a = page.a || models.find((model) => model !== page.b);
  return [a, page.b || models.find((model) => model !== a)];
}

function renderPairs() {
  byId("pairs").hidden = data.models.length < 2;
  document.querySelector("nav a[href='#pairs']").hidden = byId("pairs").hidden;
  if (data.models.length < 2) return;
  const [a, b] = chosenPair();
  const options = order().map((model) => [model, model]);
  fillSelect("pair-a", options, a);
  fillSelect("pair-b", options, b);
  const found = data.pairs.filter((pair) => isChosen(pair) && [pair.model, pair.other].includes(a) && [pair.model, pair.other].includes(b));
  const of = (task, model) => ALL_ROWS.find((row) => isChosen(row) && row.task === task && row.model === model);
  const names = [`A: ${a}`, `B: ${b}`, translate("pair_difference"), translate("interval"), translate("only", { x: "A" }), translate("only", { x: "B" })];
  const lines = found.map((pair) => {
    const [one, other] = [of(pair.task, a), of(pair.task, b)];
    const cells = [one ? fixed(one.score.value) : "–", other ? fixed(other.score.value) : "–"];
    if (pair.difference) {
      const flip = pair.model === a ? 1 : -1;
      // An estimate from few documents has no interval.
      const ends = [pair.difference.low, pair.difference.high].map((end) => (end === null ? null : flip * end)).sort((low, high) => low - high);
      const turned = { ...pair.difference, value: flip * pair.difference.value, low: ends[0], high: ends[1] };
      cells.push(differenceLine(turned, !one || one.higher_is_better), interval(turned));
    } else cells.push(translate("not_compared"), "");
    const wins = isMean(pair.task) ? ["", ""] : [winsButton(a, b, pair.task), winsButton(b, a, pair.task)];
    return element("tr", {}, element("th", { scope: "row", class: "text" }, taskName(pair.task), element("small", {}, pairVerdict(pair))),
      ...[...cells, ...wins].map((cell, index) => (cell === "" ? element("td") : element("td", {}, element("span", { class: "label" }, names[index]), cell))));
  });
  const head = element("tr", {}, element("th", { scope: "col" }, translate("task")), ...names.map((name) => element("th", { scope: "col" }, name)));
  byId("pair-table").replaceChildren(lines.length
    ? element("table", { class: "pair" }, element("thead", {}, head), element("tbody", {}, ...lines))
    : element("p", { class: "empty" }, translate(a === b ? "same_model" : "no_pair")));
}

function pairVerdict(pair) {
  const row = ALL_ROWS.find((one) => isChosen(one) && one.task === pair.task);
  const up = pair.difference && pair.difference.value > 0 === row.higher_is_better;
  return translate(`verdict_${pair.verdict}`, { model: up ? pair.model : pair.other });
}

// The number of a task's documents that only the first model solves. A click shows them in the list below.
function winsButton(winner, loser, task) {
  const wanted = { ...page, a: winner, b: loser, outcome: "pair", task, type: "", search: "" };
  const number = samples.documents.filter(filterFor(wanted)).length;
  if (!number) return samples.ready ? "0" : "";
  return button(counted(number), () => {
    go({ a: winner, b: loser, outcome: "pair", task, type: "", search: "", doc: "" });
    jump("samples", byId("list"));
  }, { class: "link", "aria-label": translate("show_only", { model: winner, other: loser, n: number, task }) });
}

function renderIntervals() {
  const chosen = data.figures.filter(isChosen);
  const noted = (task) => new Set(ALL_ROWS.filter((row) => isChosen(row) && row.task === task && row.notes.length).map((row) => row.model));
  const cards = chosen.filter((figure) => figure.kind === "scores").map((figure) => {
    const title = taskName(figure.task);
    const content = [intervalPlot(figure, title, scored)];
    const difference = chosen.find((one) => one.kind === "difference" && one.task === figure.task);
    if (difference) {
      const marks = noted(figure.task);
      const about = translate("difference", { model: difference.baseline });
      const label = (row) => [row.model + (marks.has(row.model) ? ` (${translate("with_note")})` : ""), signed(row.value)];
      content.push(element("small", { class: "second" }, about), intervalPlot(difference, about, label));
    }
    return card(title, page.measure, ...content);
  });
  byId("interval-cards").replaceChildren(...cards);
}

// The table of all numbers. Its sort order does not affect other lists.
const numbersOrder = { column: -1, down: false };
const byText = (one, other) => one.localeCompare(other);
const byNumber = (one, other) => (one === null ? 1 : other === null ? -1 : one - other);

function renderNumbers() {
  const columns = [
    ["task", (row) => taskName(row.task)], ["metric", (row) => row.metric], ["filter", (row) => row.filter], ["model", (row) => row.model],
    ["score", (row) => row.score.value, (value) => fixed(value)], ["interval", (row) => row.score.low, (low, row) => interval(row.score)],
    ["n", (row) => row.score.n, counted], ["chance_level", (row) => row.chance, (value) => fixed(value)],
    ["difference_short", (row) => (row.difference ? row.difference.value : null), (value, row) => (value !== null ? signed(value) : row.model === row.baseline ? translate("baseline") : row.why_not ? translate("not_compared") : "")],
    ["interval", (row) => (row.difference ? row.difference.low : null), (low, row) => (row.difference ? interval(row.difference) : "")],
    ["p", (row) => (row.difference ? row.difference.p : null), (value) => (value === null ? "" : probability(value).replace("= ", ""))],
    ["holm", (row) => (row.difference ? row.difference.p_holm : null), (value) => (value === null ? "" : probability(value).replace("= ", ""))],
  ].slice(0, data.models.length < 2 ? 8 : 12);
  const { column, down } = numbersOrder;
  // By default, rows are sorted by measure, and within a measure from the best model to the worst.
  const measureOf = (row) => JSON.stringify([row.task, row.metric, row.filter]);
  const measures = [...new Set(ALL_ROWS.map(measureOf))];
  const rank = (row) => data.rankings.find((one) => measureName(one) === measureName(row)).models.indexOf(row.model);
  const keyed = ALL_ROWS.map((row) => [measures.indexOf(measureOf(row)), rank(row), row]);
  const rows = keyed.sort((one, other) => one[0] - other[0] || one[1] - other[1]).map(([, , row]) => row);
  if (column >= 0) {
    const [, value, show] = columns[column];
    const compare = show ? byNumber : byText;
    rows.sort((one, other) => (down && value(one) !== null && value(other) !== null ? -1 : 1) * compare(value(one), value(other)));
  }
  const sort = (index) => {
    Object.assign(numbersOrder, { column: index, down: column === index && !down });
    renderNumbers();
    byId("numbers").querySelectorAll(".sorter")[index].focus();
  };
  const head = columns.map(([key, , show], index) => {
    const made = sortable(translate(key), index === column ? (down ? "descending" : "ascending") : "", () => sort(index));
    if (!show) made.classList.add("text");
    return made;
  });
  const lines = rows.map((row) => element("tr", {}, ...columns.map(([, value, show]) =>
    element("td", show ? {} : { class: "text" }, show ? show(value(row), row) : value(row)))));
  byId("numbers").replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines)));
  byId("numbers-about").textContent = data.models.length < 2 ? "" : translate("numbers_about");
}
