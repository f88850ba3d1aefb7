// Interval plots: a row for each model, its name above its line, so that long names and narrow pages fit.
const WIDTH = 340;
const ROW = 38;
const TOP = 22;
const SIDE = 16;

function ticks(low, high) {
  const step = [0.05, 0.1, 0.2, 0.25, 0.5].find((size) => (high - low) / size <= 5) || 0.5;
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + 1e-9; place += 1) found.push(place * step || 0);
  return found;
}

// rows: [{model, label, value, low, high}]; reference: a dashed line, or null; range: [low, high] of the axis.
function intervalPlot(rows, reference, range, description) {
  const height = TOP + rows.length * ROW + 4;
  const [low, high] = range;
  const across = (value) => SIDE + ((value - low) / (high - low)) * (WIDTH - 2 * SIDE);
  const svg = drawing("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": description });
  for (const tick of ticks(low, high)) {
    svg.append(drawing("line", { class: "grid", x1: across(tick), x2: across(tick), y1: TOP - 4, y2: height }));
    const text = fixed(tick, 2).replace("-", "−");
    svg.append(drawing("text", { class: "axis", x: across(tick), y: 11, "text-anchor": "middle" }, text));
  }
  if (reference !== null && reference >= low && reference <= high) {
    svg.append(drawing("line", { class: "reference", x1: across(reference), x2: across(reference), y1: TOP - 4, y2: height }));
  }
  rows.forEach((row, number) => {
    const middle = TOP + number * ROW + 26;
    const group = drawing("g");
    group.append(drawing("title", {}, `${row.label}: ${fixed(row.value)} ${interval(row)}`));
    group.append(drawing("text", { x: 2, y: middle - 11 }, shorten(row.label, 42)));
    group.append(drawing("text", { class: "axis", x: WIDTH - 2, y: middle - 11, "text-anchor": "end" }, row.text));
    const [from, to] = [Math.max(low, row.low), Math.min(high, row.high)];
    const line = drawing("line", { x1: across(from), x2: across(to), y1: middle, y2: middle, "stroke-width": 2.5, "stroke-linecap": "round" });
    line.style.stroke = colour(row.model);
    const dot = drawing("circle", { cx: across(row.value), cy: middle, r: 4.5 });
    dot.style.fill = colour(row.model);
    group.append(line, dot);
    svg.append(group);
  });
  return svg;
}

function shorten(text, most) {
  return [...text].length <= most ? text : "…" + [...text].slice(1 - most).join("");
}

function card(title, subtitle, ...content) {
  return element("figure", { class: "card" }, element("figcaption", {}, title, subtitle ? element("small", {}, subtitle) : null), ...content);
}

// An axis around all intervals and 0, for differences.
function rangeAround(rows) {
  const most = Math.max(0.1, ...rows.map((row) => Math.max(Math.abs(row.low), Math.abs(row.high))));
  return [-Math.min(1, most * 1.05), Math.min(1, most * 1.05)];
}
