// The leaderboard, the interval plots, and the table of all numbers.
function measures() {
  const found = new Map();
  for (const row of data.scores) found.set(measureKey(row), measureName(row));
  return [...found];
}

function chosenRows() {
  return [...data.means, ...data.scores].filter((row) => measureKey(row) === page.measure);
}

// By the mean that stands first of those that a model has, then by whether it is compared with the baseline in it, then
// by its value: what is of other tasks or other settings stands below, not among the others. Without a mean, by all tasks.
function ranking(rows) {
  const means = [...new Set(rows.filter((row) => isMean(row.task)).map((row) => row.task))];
  const rank = (model) => {
    const own = rows.filter((row) => row.model === model);
    const place = means.findIndex((task) => own.some((row) => row.task === task));
    const counted = own.filter((row) => place < 0 || row.task === means[place]);
    const unlike = counted.some((row) => row.why_not);
    const sign = counted.length && !counted[0].higher_is_better ? 1 : -1;
    return [place < 0 ? means.length : place, unlike ? 1 : 0, (sign * counted.reduce((sum, row) => sum + row.score.value, 0)) / counted.length];
  };
  const ranks = new Map([...new Set(rows.map((row) => row.model))].map((model) => [model, rank(model)]));
  const apart = (one, other, level) => ranks.get(one)[level] - ranks.get(other)[level];
  return [...ranks.keys()].sort((one, other) => apart(one, other, 0) || apart(one, other, 1) || apart(one, other, 2));
}

function renderBoard() {
  const rows = chosenRows();
  const tasks = [...new Set(rows.map((row) => row.task))];
  const head = element("tr", {}, element("th", { scope: "col" }, say("model")));
  for (const task of tasks) {
    const first = rows.filter((row) => row.task === task);
    const sizes = [...new Set(first.map((row) => row.score.n))].sort((one, other) => one - other);
    const size = sizes.length > 1 ? `${sizes[0]}–${sizes[sizes.length - 1]}` : `${sizes[0]}`;
    const chance = first.find((row) => row.chance !== null);
    head.append(
      element("th", { scope: "col" }, taskName(task),
        element("small", {}, say(first[0].metric.startsWith("group_") ? "groups" : "documents", { n: size })),
        chance ? element("small", {}, say("chance", { x: fixed(chance.chance) })) : null),
    );
  }
  const notes = new Map();
  const body = element("tbody");
  for (const model of ranking(rows)) {
    const name = element("th", { scope: "row", class: "text" }, model);
    if (model === data.baseline) name.append(element("span", { class: "tag" }, say("baseline")));
    const line = element("tr", {}, name);
    for (const task of tasks) line.append(boardCell(rows.find((row) => row.model === model && row.task === task), notes));
    body.append(line);
  }
  byId("board").replaceChildren(element("table", {}, element("thead", {}, head), body));
  const common = [];
  if (data.family) common.push(told(data.family));
  if (rows.some((row) => row.group)) common.push(say("groups_note"));
  byId("board-notes").replaceChildren(
    ...[...notes].map(([text, mark]) => element("li", {}, `${mark} ${text}`)), ...common.map((text) => element("li", {}, text)));
  const values = { models: say("models", { n: data.models.length }), baseline: data.baseline };
  byId("about").textContent = data.baseline === null ? say("about_one") : say("about", values);
}

function renderVerdicts() {
  const parts = data.verdicts.flatMap((verdict) => [
    element("h3", {}, `${say("verdict_of")}: ${told(verdict.measure)}`),
    element("ul", { class: "plain" }, ...verdict.sentences.map((one) => element("li", {}, told(one.text)))),
  ]);
  byId("verdicts").replaceChildren(...parts);
}

function boardCell(row, notes) {
  if (!row) return element("td", {}, "–");
  const note = (text) => {
    if (!notes.has(text)) notes.set(text, `${notes.size + 1})`);
    return " " + notes.get(text);
  };
  const part = row.incomplete.length ? note(row.incomplete.map(told).join("; ")) : "";
  const cell = element("td", {}, element("b", {}, fixed(row.score.value)), row.group ? element("sup", {}, ` ${row.group}`) : null,
    element("small", {}, interval(row.score) + part));
  if (row.above_chance === false) cell.append(element("small", { class: "bad" }, say("not_above_chance")));
  if (row.difference) {
    const tested = row.difference.p_holm !== null;
    const sure = tested && row.difference.p_holm < 0.05;
    const up = row.difference.value > 0 === row.higher_is_better;
    const p = tested ? `, p ${probability(row.difference.p_holm)}` : "";
    const text = `${sure ? (up ? "▲ " : "▼ ") : ""}${signed(row.difference.value)}${p}`;
    const remark = row.notes.length ? note(row.notes.map(told).join("; ")) : "";
    cell.append(element("small", sure ? { class: up ? "good" : "bad" } : {}, text + remark));
  } else if (row.why_not) {
    cell.append(element("small", {}, say("not_compared") + note(told(row.why_not))));
  }
  return cell;
}

function renderIntervals() {
  const rows = chosenRows();
  const order = ranking(rows);
  const cards = [...new Set(rows.map((row) => row.task))].map((task) => {
    const shown = rows.filter((row) => row.task === task).sort((one, other) => order.indexOf(one.model) - order.indexOf(other.model));
    const scores = shown.map((row) => ({ model: row.model, label: row.model, text: fixed(row.score.value), ...row.score }));
    const chance = shown.find((row) => row.chance !== null);
    const range = [0, Math.max(1, ...shown.map((row) => row.score.high))];
    const content = [intervalPlot(scores, chance ? chance.chance : null, range, taskName(task))];
    const differences = shown.filter((row) => row.difference).map((row) => ({
      model: row.model,
      label: row.model + (row.notes.length ? ` (${say("with_note")})` : ""),
      text: signed(row.difference.value),
      ...row.difference,
    }));
    if (differences.length) {
      const title = say("difference", { model: data.baseline });
      content.push(element("small", { class: "second" }, title), intervalPlot(differences, 0, rangeAround(differences), title));
    }
    return card(taskName(task), measureName(shown[0]), ...content);
  });
  byId("interval-cards").replaceChildren(...cards);
}

function renderNumbers() {
  const columns = ["task", "metric", "filter", "model", "score", "interval", "n", null, null, "interval", "p", "holm"];
  const names = { 7: say("chance", { x: "" }).trim(), 8: data.baseline === null ? "" : say("difference", { model: data.baseline }) };
  const head = element("tr", {}, ...columns.map((key, place) =>
    element("th", place < 4 ? { class: "text", scope: "col" } : { scope: "col" }, key ? say(key) : names[place])));
  const lines = [...data.means, ...data.scores].map((row) => {
    const difference = row.difference;
    const cells = [taskName(row.task), row.metric, row.filter, row.model, fixed(row.score.value), interval(row.score), row.score.n, fixed(row.chance)];
    if (difference) cells.push(signed(difference.value), interval(difference), fixed(difference.p), fixed(difference.p_holm));
    else cells.push(row.why_not ? say("not_compared") : "", "", "", "");
    return element("tr", {}, ...cells.map((text, place) => element("td", place < 4 ? { class: "text" } : {}, String(text))));
  });
  byId("numbers").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines)));
}
