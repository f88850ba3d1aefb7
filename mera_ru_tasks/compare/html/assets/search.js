// The documents, the filters and the search.
const samples = { documents: [], strings: [], shown: [], ready: false };
const text = (index) => samples.strings[index];
const whole = (indices) => indices.map(text).join("");

async function unpack() {
  const characters = atob(byId("packed-samples").textContent);
  const packed = new Uint8Array(characters.length);
  for (let index = 0; index < packed.length; index += 1) packed[index] = characters.charCodeAt(index);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const unpacked = new TextDecoder("utf-16le").decode(await new Response(stream).arrayBuffer());
  const [rest, ...strings] = unpacked.split("\0");
  const { answer_fields: fields, documents } = JSON.parse(rest);
  samples.strings = strings;
  samples.documents = documents.map((document) => {
    const answers = document.answers.map((values) => Object.fromEntries(fields.map((field, index) => [field, values[index]])));
    const byModel = [];
    for (const answer of answers) byModel[answer.model] = answer;
    // Most prompts are the same for several models. Each of them is searched only once.
    const prompts = [...new Map(answers.map((answer) => [answer.prompt.join(), answer.prompt])).values()];
    return { ...document, key: `${data.tasks[document.task]}/${document.id}`, answers, byModel, prompts };
  });
  samples.ready = true;
  foldAhead(0);
}

// Search ignores case and treats ё as е. Each text is folded once, either while the browser is idle or at the first
// search.
const folded = [];
const foldText = (words) => words.toLowerCase().replaceAll("ё", "е");
const foldedAt = (index) => (folded[index] ??= foldText(text(index)));
const whenIdle = window.requestIdleCallback || ((action) => setTimeout(() => action({ timeRemaining: () => 8 }), 30));

function foldAhead(index) {
  whenIdle((idle) => {
    while (index < samples.strings.length && idle.timeRemaining() > 2) foldedAt(index++);
    if (index < samples.strings.length) foldAhead(index);
  });
}

const wordsOf = (search) => foldText(search).split(/\s+/).filter(Boolean);

// The ranges (see `marked`) of the search words in a text.
function hits(shown) {
  const words = wordsOf(page.search);
  if (!words.length) return [];
  const literal = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("е", "[её]");
  return [...shown.matchAll(new RegExp(words.map(literal).join("|"), "giu"))].map((hit) => [hit.index, hit.index + hit[0].length, "hit"]);
}

const modelAt = (answer) => data.models[answer.model].label;

// An answer is correct by the filter of the chosen measure: strict-match, unless the measure is for flexible-extract.
const isFlexible = (state) => state.measure.endsWith("flexible-extract");
const rightIn = (state) => (isFlexible(state) ? (answer) => answer.right_flexible : (answer) => answer.right);

function stateOf(answer) {
  if (answer.right === null) return "none";
  if (answer.right) return "right";
  return answer.right_flexible ? "format" : "wrong";
}

const differs = (verdict, answer) => verdict.score !== null && answer.right !== null && (verdict.score === 1) !== (answer.right === 1);
// The outcomes of a single answer.
const OUTCOMES = {
  any: () => true,
  right: (answer, right) => right(answer) === 1,
  wrong: (answer, right) => right(answer) === 0,
  format: (answer) => stateOf(answer) === "format",
  unreadable: (answer) => answer.answered === 0,
  judge: (answer) => answer.verdicts.some(([judge, score]) => differs({ judge, score }, answer)),
};
// The outcomes of several answers: those of the chosen models, or those of all models.
const RELATIONS = {
  pair: ([a, b], right) => right(a) === 1 && right(b) === 0,
  disagree: (answers, right) => new Set(answers.map(right).filter((value) => value !== null)).size > 1,
};

// Return a predicate for documents. An outcome must apply to each of the chosen models, or to any model if none is
// chosen.
function filterFor(state) {
  const right = rightIn(state);
  const models = [state.a, state.b].filter(Boolean).map((label) => modelNumber.get(label));
  const task = data.tasks.indexOf(state.task);
  const words = wordsOf(state.search);
  const holds = (indices) => words.every((word) => indices.some((index) => foldedAt(index).includes(word)));
  const fits = (document, answers) => {
    const relation = RELATIONS[state.outcome];
    if (state.outcome === "disagree" && models.length === 1) return document.answers.some((answer) => relation([answers[0], answer], right));
    if (relation) return relation(answers, right);
    const holdsFor = (answer) => OUTCOMES[state.outcome](answer, right);
    return models.length ? answers.every(holdsFor) : answers.some(holdsFor);
  };
  return (document) => {
    if (state.task && document.task !== task) return false;
    if (state.type && String(document.type) !== state.type) return false;
    const answers = models.length ? models.map((model) => document.byModel[model]) : document.answers;
    if (answers.includes(undefined) || !fits(document, answers)) return false;
    if (!words.length || answers.some((answer) => holds(answer.response))) return true;
    if (state.scope === "responses") return false;
    return document.prompts.some(holds) || (document.reference !== null && holds([document.reference])) || String(document.id) === words.join(" ");
  };
}
