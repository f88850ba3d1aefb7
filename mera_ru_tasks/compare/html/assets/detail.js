// One document: the question, the reference, two answers side by side, and the other answers below them.

// The maximum number of words to compare. Longer texts would take seconds.
const MAX_WORDS = 1500;
// The minimum share of common words. In texts with less in common, nearly every word would be marked.
const LEAST_COMMON = 0.3;

const tokens = (shown) => [...shown.matchAll(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu)].map((found) => [found[0], found.index]);

// The ranges (see `marked`) of the words that only one of two texts contains, or null if the texts are too long or too
// different.
function differences(one, other) {
  const [left, right] = [tokens(one), tokens(other)];
  if (!left.length || !right.length || left.length > MAX_WORDS || right.length > MAX_WORDS) return null;
  const wide = right.length + 1;
  const common = new Uint16Array((left.length + 1) * wide);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const index = i * wide + j;
      common[index] = left[i][0] === right[j][0] ? common[index + wide + 1] + 1 : Math.max(common[index + wide], common[index + 1]);
    }
  }
  if (common[0] < LEAST_COMMON * Math.min(left.length, right.length)) return null;
  const found = [[], []];
  const mark = (side, [word, start]) => {
    const last = found[side][found[side].length - 1];
    // Adjacent words become one range, which includes the space between them.
    if (last && last[3] === start) last[1] = start + word.length;
    else found[side].push([start, start + word.length, "differs"]);
    const end = start + word.length;
    const gap = /^\s*/.exec((side ? other : one).slice(end))[0].length;
    found[side][found[side].length - 1][3] = end + gap;
  };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i][0] === right[j][0]) [i, j] = [i + 1, j + 1];
    else if (j === right.length || (i < left.length && common[(i + 1) * wide + j] >= common[i * wide + j + 1])) mark(0, left[i++]);
    else mark(1, right[j++]);
  }
  return found;
}

// The two answers to show side by side: those of the chosen models, or else the first correct answer and the first
// incorrect answer.
function sides(document) {
  const right = rightIn(page);
  const answers = order().map((model) => document.byModel[modelNumber.get(model)]).filter(Boolean);
  const chosen = (label) => (label ? document.byModel[modelNumber.get(label)] : undefined);
  let [a, b] = [chosen(page.a), chosen(page.b)];
  const other = (known) => answers.find((answer) => answer !== known && right(answer) !== right(known)) || answers.find((answer) => answer !== known);
  if (!a && !b) a = answers.find((answer) => right(answer) === 1) || answers[0];
  a = a || other(b);
  b = b && b !== a ? b : other(a);
  return [a, b].filter(Boolean);
}

const box = (content, name = "box") => element("div", { class: name, lang: "ru", tabindex: "0" }, element("pre", {}, content));

function copier(label, content) {
  return button(translate(label), (event) => copy(content(), event.currentTarget), { class: "quiet small" });
}

function heading(title, ...tools) {
  return element("div", { class: "heading" }, element("h4", {}, title), ...tools);
}

// A link to the present view, which also names the document that opened by itself.
const linkTo = (document) => location.href.split("#")[0] + addressOf({ ...page, doc: document.key });

function aboutDocument(document) {
  return `${data.tasks[document.task]} · ${document.id}${document.type === null ? "" : ` · ${translate("part_type", { x: document.type })}`}`;
}

function renderDetail() {
  const detail = byId("detail");
  const shown = current();
  document.querySelector(".browser").classList.toggle("open", Boolean(page.doc));
  if (!shown) {
    detail.replaceChildren(element("p", { class: "empty" }, translate(samples.ready ? "nothing" : "loading")));
    return;
  }
  const index = samples.shown.indexOf(shown);
  const step = (target, label, name) => {
    const made = button(label, () => choose(target), { "aria-label": translate(name) });
    made.disabled = target < 0 || target >= samples.shown.length || index < 0;
    return made;
  };
  const tools = element("div", { class: "tools" }, button(translate("back"), leave, { id: "back", class: "quiet" }),
    step(index - 1, "↑", "previous"), step(index + 1, "↓", "next"), copier("copy_link", () => linkTo(shown)));
  const pair = sides(shown);
  const others = ordered(shown.answers.filter((answer) => !pair.includes(answer)).map((answer) => ({ model: modelAt(answer), answer })));
  const texts = pair.map((answer) => text(answer.response[1]));
  const found = pair.length === 2 ? differences(...texts) : null;
  const isOther = detail.dataset.shown !== shown.key;
  const content = [
    element("div", { class: "title" }, element("h3", {}, aboutDocument(shown)), tools),
    ...promptView(shown),
    heading(translate("reference")),
    shown.reference === null ? element("p", { class: "empty" }, translate("closed")) : box(marked(text(shown.reference), hits(text(shown.reference))), "box reference"),
    element("div", { class: "sides" }, ...pair.map((answer, side) => answerView(shown, answer, found ? found[side] : []))),
    pair.length === 2 && texts[0] !== texts[1] ? element("p", { class: "hint" }, translate(found ? "differences_marked" : "little_common")) : null,
    others.length ? heading(translate("other_models")) : null,
    ...others.map(({ model, answer }) => fold(`other ${model}`, answerHead(answer, text(answer.flexible)), answerView(shown, answer, [], false))),
  ];
  // If the document is the same, opened sections stay open. A different document starts at its top.
  if (isOther) detail.replaceChildren(...content.filter((child) => child !== null));
  else replace(detail, ...content);
  detail.dataset.shown = shown.key;
  if (isOther) detail.scrollTop = 0;
  if (isOther && page.doc && isNarrow()) byId("samples").scrollIntoView();
  scrollBoxes(detail);
}

// Scroll boxes to a hit, to the clause with the answer, or to the end of a response. Boxes in closed sections wait until
// these open, because measuring them would lay out every response.
function scrollBoxes(opened) {
  // All positions are measured before any box scrolls, so that the page is laid out only once.
  const boxes = [...opened.querySelectorAll(".box")].filter((one) => !one.closest("details:not([open])")).map((one) => {
    const sought = one.querySelector(".hit") || one.querySelector(".clause");
    const end = one.classList.contains("response") ? one.scrollHeight : 0;
    return [one, sought ? sought.offsetTop - one.clientHeight / 2 : end];
  });
  for (const [one, index] of boxes) one.scrollTop = index;
}

// The question, which is the same for all models. Examples and chat templates around it are collapsed.
function promptView(shown) {
  const [first] = shown.prompts;
  const same = shown.prompts.length === 1;
  const question = first.length > 1 ? first[1] : first[0];
  const shared = shown.prompts.every((indices) => indices.includes(question));
  if (!shared) return [heading(translate("prompt")), element("p", { class: "empty" }, translate("prompts_differ"))];
  const ranges = (content) => marked(content, hits(content));
  const around = first.map(text).filter((part, index) => first[index] !== question && part.trim());
  const all = same && around.length
    ? fold("prompt", translate("whole_prompt", { n: counted(whole(first).length) }), box(ranges(whole(first)))) : null;
  return [heading(translate("prompt"), copier("copy_prompt", () => whole(first))), box(ranges(text(question).trim())), all].filter(Boolean);
}

// In a task without responses, lm-eval calls the filter "none".
const ranks = (task) => data.scores.some((row) => row.task === task && row.filter === "none");

function answerHead(answer, read = "") {
  const state = stateOf(answer);
  const tone = state === "right" || state === "format" ? "right" : state === "wrong" ? "wrong" : "";
  return element("span", { class: "answer-head" }, dot(modelAt(answer)), element("b", {}, modelAt(answer)),
    element("span", { class: `state ${tone}` }, translate(`state_${state}`)), read ? element("span", { class: "brief", lang: "ru" }, read) : null);
}

function answerView(shown, answer, differing, head = true) {
  const [reasoning, response] = answer.response.map(text);
  const clause = text(answer.clause);
  const at = clause ? response.lastIndexOf(clause) : -1;
  const ranges = [...differing, ...hits(response), ...(at >= 0 ? [[at, at + clause.length, "clause"]] : [])];
  const found = hits(reasoning);
  const thought = reasoning.trim()
    ? fold(`reasoning ${answer.model}`, translate("reasoning", { n: counted(reasoning.length) }), box(marked(reasoning, found))) : null;
  if (thought && found.length) thought.open = true;
  const view = element("section", { class: "answer" }, head ? element("header", {}, answerHead(answer)) : null,
    readings(answer), heading(translate("response"), copier("copy_response", () => reasoning + response)), thought,
    response.trim() ? box(marked(response.trimEnd(), ranges.map(([start, end, name]) => [start, Math.min(end, response.trimEnd().length), name])), "box response")
      : element("p", { class: "empty" }, translate(thought ? "only_reasoning" : ranks(data.tasks[shown.task]) ? "ranked" : "empty")));
  if (shown.prompts.length > 1) view.append(fold(`prompt ${answer.model}`, translate("prompt_of", { model: modelAt(answer) }), box(whole(answer.prompt))));
  return view;
}

// The answer that each filter extracted, the reason, and the verdicts of judges.
function readings(answer) {
  const list = element("dl");
  const add = (name, read, why) => list.append(element("dt", {}, name), element("dd", {},
    read ? element("b", { lang: "ru" }, read) : null, why ? element("small", {}, why) : null));
  if (answer.right !== null || text(answer.flexible) || answer.code) {
    add("strict-match", text(answer.strict), translate(`strict_${answer.strict_code}`));
    const clause = text(answer.clause);
    const why = answer.code ? translate(`why_${answer.code}`) : "";
    add("flexible-extract", text(answer.flexible) || translate("read_nothing"), why && clause ? translate("quoted", { why, clause }) : why);
  }
  for (const [judge, score, reason] of answer.verdicts) {
    add(translate("verdict", { x: judge }).trim(), score === null ? translate("no_verdict") : fixed(score, 1), text(reason));
  }
  return list.childNodes.length ? list : null;
}
