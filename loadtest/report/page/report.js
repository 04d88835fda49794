"use strict";
// Plots of one run. Colours are those of the page, read anew when the person's theme changes.
const HEIGHT = 240;
const plots = [];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function axes(values, filter) {
  const grid = { stroke: colour("--line"), width: 1 };
  const look = { stroke: colour("--quiet"), grid, ticks: grid };
  const own = filter ? { grid: { ...grid, filter }, ticks: { ...grid, filter }, filter } : {};
  return [
    { ...look, size: 34, values: (u, at) => at.map((one) => one + " s") },
    { ...look, ...own, size: 52, values: (u, at) => at.map((one) => (one == null ? "" : values(one))) },
  ];
}

const short = (value) =>
  value >= 1000 ? (value / 1000).toLocaleString("en", { maximumFractionDigits: 1 }) + "k"
    : value.toLocaleString("en", { maximumFractionDigits: 2 });

const exact = (u, value) =>
  value == null ? "" : value.toLocaleString("en", { maximumFractionDigits: 2 });

const second = (u, value) => (value == null ? "" : exact(u, value) + " s");

// The warm-up is shaded, kills are lines.
function marks(u) {
  const left = u.bbox.left, { ctx } = u;
  const zero = Math.min(Math.max(u.valToPos(0, "x", true), left), left + u.bbox.width);
  ctx.save();
  ctx.globalAlpha = 0.5;
  ctx.fillStyle = colour("--line");
  ctx.fillRect(left, u.bbox.top, zero - left, u.bbox.height);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = colour("--bad");
  for (const kill of DATA.kills) {
    const at = u.valToPos(kill.at_s, "x", true);
    ctx.beginPath();
    ctx.moveTo(at, u.bbox.top);
    ctx.lineTo(at, u.bbox.top + u.bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

// A second without a value is a gap: a line across it would tell of trades that never were. What has
// gaps on both sides is no line, so it is a dot.
const alone = (u, at) => u.data[at].flatMap((value, place, all) =>
  (value != null && all[place - 1] == null && all[place + 1] == null ? [place] : []));

const series = (label, name, scale = "y") => ({ label, stroke: colour(name), width: 2, value: exact,
  scale, points: { show: false, filter: alone, size: 5, fill: colour(name) } });

// The squares are filled, so that a thin line's colour is known.
const legend = { markers: { width: 0, fill: (u, at) => u.series[at].stroke(u, at) } };

function overTime(id, lines, scales, more) {
  const known = lines.map((line) => ({ ...line, values: DATA.columns[line.column] }));
  drawLines(id, DATA.at_s, known, scales, more);
}

function drawLines(id, atS, lines, scales, more = []) {
  draw(id, [atS, ...lines.map((line) => line.values)], {
    scales: { x: { time: false }, ...scales },
    series: [{ label: "at", value: second }, ...lines.map((line) => series(line.label, line.colour, line.scale))],
    axes: [...axes(short, scales === logarithmic && tens), ...more],
    hooks: { drawClear: [marks] },
  });
}

function draw(id, data, options) {
  const place = document.getElementById(id);
  const plot = new uPlot({ width: place.clientWidth, height: HEIGHT, cursor: { points: { size: 6 } },
    legend, ...options }, data, place);
  plots.push({ place, plot });
}

// Logarithmic, so that a stall is seen beside a millisecond; lines at powers of ten only.
const logarithmic = { y: { distr: 3 } };
const tens = (u, splits) => splits.map((one) => (Number.isInteger(Math.log10(one)) ? one : null));

function percentiles() {
  const shown = [["trade", "--one"], ["effective", "--three"], ["accepted", "--two"], ["bell", "--four"]]
    .filter(([name]) => DATA.curves[name]);
  if (!shown.length) return;
  const depth = (percentile) => -Math.log10(1 - percentile / 100);
  const all = [...new Set(shown.flatMap(([name]) => DATA.curves[name].map(([at]) => at)))];
  all.sort((one, other) => one - other);
  const columns = shown.map(([name]) => {
    const known = new Map(DATA.curves[name]);
    return all.map((at) => (known.has(at) ? Math.max(known.get(at), 0.001) : null));
  });
  const [x, y] = axes(short, tens);
  const nines = [0, 0.30103, 1, 2, 3, 4, 5];
  const names = ["0", "50", "90", "99", "99.9", "99.99", "99.999"];
  x.splits = () => nines.filter((one) => one <= depth(all[all.length - 1]) + 0.01);
  x.values = (u, at) => at.map((one) => names[nines.indexOf(one)] ?? "");
  draw("curve", [all.map(depth), ...columns], {
    scales: { x: { time: false }, ...logarithmic },
    series: [
      { label: "percentile", value: (u, at) => (at == null ? "" : (100 * (1 - 10 ** -at)).toFixed(3) + " %") },
      // Each has a value at some of the percentiles only; between them it goes straight.
      ...shown.map(([name, ink]) => ({ ...series(name, ink), spanGaps: true, points: { show: false } })),
    ],
    axes: [x, y],
  });
}

const INKS = ["--one", "--two", "--three", "--four"];

const fromZero = { range: (u, low, high) => [0, high * 1.05 || 1] };

// What the server holds: looked at by another clock than the rest, so with times of its own.
function held(id, named) {
  if (!document.getElementById(id)) return;
  const lines = Object.entries(named).map(([label, values], place) => ({ label, values, colour: INKS[place % 4] }));
  drawLines(id, DATA.held.at_s, lines, { y: fromZero });
}

// Errors have an axis of their own: three of them are not to drown beside two thousand tables.
function tables() {
  const lines = [{ label: "tables open", column: "tables_open", colour: "--one" }];
  const scales = { y: fromZero };
  if (!DATA.columns.errors.some((number) => number)) {
    overTime("tables", lines, scales);
    return;
  }
  const axis = { scale: "errors", side: 1, size: 40, stroke: colour("--bad"), grid: { show: false },
    values: (u, at) => at.map((one) => (Number.isInteger(one) ? short(one) : "")) };
  overTime("tables", [...lines, { label: "errors", column: "errors", colour: "--bad", scale: "errors" }],
    { ...scales, errors: { range: (u, low, high) => [0, Math.max(high * 1.05, 4)] } }, [axis]);
}

function drawAll() {
  for (const { place, plot } of plots.splice(0)) { plot.destroy(); place.textContent = ""; }
  overTime("latency", [
    { label: "p50", column: "trade_p50_ms", colour: "--one" },
    { label: "p99", column: "trade_p99_ms", colour: "--two" },
  ], logarithmic);
  percentiles();
  overTime("throughput", [
    { label: "actions", column: "sent", colour: "--one" },
    { label: "events seen", column: "events", colour: "--three" },
    { label: "messages", column: "messages", colour: "--four" },
  ]);
  tables();
  held("memory", DATA.held.memory);
  held("entries", DATA.held.entries);
}

drawAll();
new ResizeObserver(() => {
  for (const { place, plot } of plots) {
    if (place.clientWidth && plot.width !== place.clientWidth) {
      plot.setSize({ width: place.clientWidth, height: HEIGHT });
    }
  }
}).observe(document.querySelector("main"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
