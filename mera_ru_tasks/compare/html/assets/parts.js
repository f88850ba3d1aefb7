// The breakdowns: a card for each part of a task, and the differences within models.
const numeric = (part) => part.split(".").map(Number);

// Prompts are told apart by type, since each type has its own.
function divisionOf(part) {
  return part.by === "prompt" ? `prompt ${part.part.split(".")[0]}` : part.by;
}

function divisionName(key, all) {
  if (!key.startsWith("prompt ")) return say(`by_${key}`);
  const several = all.filter((other) => other.startsWith("prompt ")).length > 1;
  return several ? say("by_prompt_type", { x: key.slice(7) }) : say("by_prompt");
}

function renderPartChoices() {
  const tasks = [...new Set(data.breakdowns.map((part) => part.task))];
  fillSelect(byId("part-task"), tasks.map((task) => [task, task]));
  const own = data.breakdowns.filter((part) => part.task === byId("part-task").value);
  const divisions = [...new Set(own.map(divisionOf))];
  fillSelect(byId("part-by"), divisions.map((key) => [key, divisionName(key, divisions)]));
  fillSelect(byId("part-pipeline"), [...new Set(own.map((part) => part.filter))].map((name) => [name, name]));
}

function renderParts() {
  renderPartChoices();
  const by = byId("part-by").value;
  const shown = data.breakdowns.filter((part) =>
    part.task === byId("part-task").value && divisionOf(part) === by && part.filter === byId("part-pipeline").value);
  const lead = by ? say(`lead_${by.startsWith("prompt ") ? "prompt" : by}`) : say("no_parts");
  byId("part-lead").textContent = lead;
  const spreads = data.prompt_spread.filter((spread) =>
    `prompt ${spread.kind}` === by && spread.task === byId("part-task").value && spread.filter === byId("part-pipeline").value);
  const texts = spreads.map((spread) => say("spread_model", { model: spread.model, x: fixed(spread.spread), p: fixed(spread.p) }));
  byId("legend").replaceChildren(...(texts.length ? [element("span", {}, `${say("spread")}:`), ...texts.map((text) => element("span", {}, text))] : []));
  const names = [...new Set(shown.map((part) => part.part))].sort((one, other) => {
    const [a, b] = [numeric(one), numeric(other)];
    return a[0] - b[0] || (a[1] || 0) - (b[1] || 0);
  });
  const order = data.models.map((model) => model.label);
  shown.sort((one, other) => order.indexOf(one.model) - order.indexOf(other.model));
  byId("part-cards").replaceChildren(...names.map((name) => partCard(shown.filter((part) => part.part === name))));
}

function partCard(parts) {
  const [first] = parts;
  const number = first.by === "prompt" ? first.part.split(".")[1] : first.part;
  const about = [say("documents", { n: first.score.n })];
  if (first.chance !== null) about.push(say("chance", { x: fixed(first.chance) }));
  const rows = parts.map((part) => ({ model: part.model, label: part.model, text: fixed(part.score.value), ...part.score }));
  const title = say(`part_${first.by}`, { x: number });
  const prompt = data.prompts.find((known) => first.by === "prompt" && known.task === first.task && known.part === first.part);
  const template = prompt
    ? element("details", {}, element("summary", {}, say("template")), element("pre", { lang: "ru" }, prompt.template))
    : null;
  return card(title, about.join(", "), intervalPlot(rows, first.chance, [0, 1], title), template);
}

function renderGaps() {
  const groups = new Map();
  for (const gap of data.gaps) {
    const key = JSON.stringify([gap.kind, gap.task, gap.filter]);
    groups.set(key, [...(groups.get(key) || []), gap]);
  }
  byId("gap-cards").replaceChildren(...[...groups.values()].map((gaps) => {
    const rows = gaps.map((gap) => ({ model: gap.model, label: gap.model, text: signed(gap.value.value), ...gap.value }));
    const what = say(`gap_${gaps[0].kind}`, { x: gaps[0].filter });
    return card(gaps[0].task, what, intervalPlot(rows, 0, rangeAround(rows), what));
  }));
}
