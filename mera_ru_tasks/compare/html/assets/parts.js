// The breakdowns: a card for each subset of a task, and the differences within models.

// Prompts are grouped by type, because each type has its own prompts.
function divisionOf(figure) {
  return figure.by === "prompt" ? `prompt ${figure.part.split(".")[0]}` : figure.by;
}

function divisionName(key, all) {
  if (!key.startsWith("prompt ")) return translate(`by_${key}`);
  const several = all.filter((other) => other.startsWith("prompt ")).length > 1;
  return several ? translate("by_prompt_type", { x: key.slice(7) }) : translate("by_prompt");
}

function renderParts() {
  const figures = data.figures.filter((figure) => figure.kind === "part");
  const same = (value) => [value, value];
  const task = fillSelect("part-task", [...new Set(figures.map((figure) => figure.task))].map(same), page.partTask);
  const own = figures.filter((figure) => figure.task === task);
  const divisions = [...new Set(own.map(divisionOf))];
  const by = fillSelect("part-by", divisions.map((key) => [key, divisionName(key, divisions)]), page.partBy);
  const filterName = fillSelect("part-filter", [...new Set(own.map((figure) => figure.filter))].map(same), page.partFilter);
  byId("part-lead").textContent = by ? translate(`lead_${by.startsWith("prompt ") ? "prompt" : by}`) : translate("no_parts");
  byId("weakest").replaceChildren(...weakest(filterName));
  const spreads = data.prompt_spread.filter((spread) => `prompt ${spread.kind}` === by && spread.task === task && spread.filter === filterName);
  const spread = (one) => element("span", {}, dot(one.model), translate("spread_model", { model: one.model, x: fixed(one.spread), p: fixed(one.p) }));
  byId("spread").replaceChildren(...(spreads.length ? [element("span", {}, `${translate("spread")}:`), ...ordered(spreads).map(spread)] : []));
  replace(byId("part-cards"), ...own.filter((figure) => divisionOf(figure) === by && figure.filter === filterName).map(partCard));
}

// The lowest scores of the best model over all tasks. Each number links to its documents.
const WEAKEST = 3;

function weakest(filterName) {
  const [best] = order();
  const parts = data.figures.filter((figure) => figure.kind === "part" && figure.by === "type" && figure.filter === filterName);
  const found = parts.map((figure) => ({ figure, row: figure.rows.find((row) => row.model === best) })).filter(({ row }) => row);
  found.sort((one, other) => one.row.value - other.row.value);
  const show = ({ figure, row }) => button(translate("weak_part", { task: figure.task, type: figure.part, score: fixed(row.value), n: counted(row.n) }), () => {
    go({ a: best, b: "", outcome: "wrong", task: figure.task, type: figure.part, search: "", doc: "" });
    jump("samples", byId("list"));
  }, { class: "link" });
  return found.length ? [element("span", {}, dot(best), translate("weakest", { model: best })), ...found.slice(0, WEAKEST).map(show)] : [];
}

function partCard(figure) {
  const number = figure.by === "prompt" ? figure.part.split(".")[1] : figure.part;
  const about = [translate("documents", { n: figure.rows[0].n })];
  if (figure.reference !== null) about.push(translate("chance", { x: fixed(figure.reference) }));
  const title = translate(`part_${figure.by}`, { x: number });
  const prompt = data.prompts.find((known) => figure.by === "prompt" && known.task === figure.task && known.part === figure.part);
  const template = prompt ? fold(`template ${figure.part}`, translate("template"), element("pre", { lang: "ru" }, prompt.template)) : null;
  return card(title, about.join(", "), intervalPlot(figure, title, scored), template);
}

function renderGaps() {
  byId("gap-cards").replaceChildren(...data.figures.filter((figure) => figure.kind === "gap").map((figure) => {
    const what = translate(`gap_${figure.by}`, { x: figure.filter });
    return card(figure.task, what, intervalPlot(figure, what, differing));
  }));
}
