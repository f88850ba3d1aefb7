// Interval plots, with a row for each model. The name is above the interval, so that long names fit on narrow pages.
const WIDTH = 340;
const ROW = 38;
const TOP = 22;
const SIDE = 16;

function ticks(low, high) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5].find((size) => (high - low) / size <= 5) || (high - low) / 5;
  const found = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9; index += 1) found.push(index * step || 0);
  return found;
}

// Draw a figure of the data (see plots.py). `told` returns the label and the number of a row.
function intervalPlot(figure, description, told) {
  const rows = ordered(figure.rows);
  const height = TOP + rows.length * ROW + 4;
  const [low, high] = figure.axis;
  const across = (value) => SIDE + ((value - low) / (high - low)) * (WIDTH - 2 * SIDE);
  const upright = (value, name) => drawing("line", { class: name, x1: across(value), x2: across(value), y1: TOP - 4, y2: height });
  const svg = drawing("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": description });
  for (const tick of ticks(low, high)) {
    svg.append(upright(tick, "grid"));
    svg.append(drawing("text", { class: "axis", x: across(tick), y: 11, "text-anchor": "middle" }, fixed(tick, 2)));
  }
  if (figure.reference !== null) svg.append(upright(figure.reference, "reference"));
  rows.forEach((row, number) => {
    const middle = TOP + number * ROW + 26;
    const [label, text] = told(row);
    const group = drawing("g");
    group.append(drawing("title", {}, `${label}: ${fixed(row.value)} ${interval(row)}`));
    group.append(drawing("text", { x: 2, y: middle - 11 }, shorten(label, 42)));
    group.append(drawing("text", { class: "axis", x: WIDTH - 2, y: middle - 11, "text-anchor": "end" }, text));
    const line = row.low === null ? "" : drawing("line", { x1: across(row.low), x2: across(row.high), y1: middle, y2: middle, "stroke-width": 2.5, "stroke-linecap": "round" });
    if (line) line.style.stroke = colour(row.model);
    const point = drawing("circle", { cx: across(row.value), cy: middle, r: 4.5 });
    point.style.fill = colour(row.model);
    group.append(line, point);
    svg.append(group);
  });
  return svg;
}

const scored = (row) => [row.model, fixed(row.value)];
const differing = (row) => [row.model, signed(row.value)];

function card(title, subtitle, ...content) {
  return element("figure", { class: "card" }, element("figcaption", {}, title, subtitle ? element("small", {}, subtitle) : null), ...content);
}
