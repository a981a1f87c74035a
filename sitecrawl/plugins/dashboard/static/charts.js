// The charts: uPlot draws, here is what.

import { byId, el } from "./dom.js";
import { bytes, rate, seconds, short } from "./format.js";

/** Growth a second between a point and the one before; a total that fell is a new start. */
function speed(times, totals) {
  return totals.map((total, n) => {
    if (n === 0 || total === null || totals[n - 1] === null) return null;
    const passed = times[n] - times[n - 1];
    return passed > 0 ? Math.max(0, total - totals[n - 1]) / passed : null;
  });
}

/** Nothing where nothing is known. */
const sum = (...series) => series[0].map((_, n) => series.reduce((all, one) => (one[n] === null ? all : all + one[n]), null));

const CHARTS = [
  { id: "speed", title: "Pages a second", unit: rate, lines: [["fetched", (s) => speed(s.t, s.fetched)]] },
  { id: "bytes", title: "Received a second", unit: bytes, lines: [["received", (s) => speed(s.t, s.received)]] },
  {
    id: "frontier", title: "URLs", unit: short,
    lines: [["known", (s) => s.known], ["waiting", (s) => s.waiting], ["fetched", (s) => s.fetched]],
  },
  {
    id: "answers", title: "Answers a second", unit: rate,
    lines: [
      ["2xx", (s) => speed(s.t, s.ok)], ["3xx", (s) => speed(s.t, s.redirects)],
      ["4xx", (s) => speed(s.t, s.refused)], ["5xx, failed", (s) => speed(s.t, sum(s.broken, s.failed))],
    ],
    colours: [3, 1, 2, 4],
  },
  {
    id: "latency", title: "Time of a download", unit: seconds,
    lines: [["median", (s) => s.p50], ["95% below", (s) => s.p95]],
  },
  {
    id: "machine", title: "Memory of the process", unit: bytes, lines: [["resident", (s) => s.memory]], colours: [5],
  },
];

const STEPS = [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 2592000]; // seconds
const FLOORS = new Map([[rate, 4], [bytes, 4000], [short, 4], [seconds, 0.004]]); // an axis that ends below says little
const SMOOTHED = 5; // samples: a single second says little

function smooth(values) {
  return values.map((value, n) => {
    if (value === null) return null;
    const window = values.slice(Math.max(0, n - SMOOTHED + 1), n + 1).filter((one) => one !== null);
    return window.reduce((all, one) => all + one, 0) / window.length;
  });
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

class Chart {
  constructor(about) {
    this.about = about;
    this.colours = about.colours ?? about.lines.map((_, n) => n + 1);
    this.values = about.lines.map(() => el("b", {}, "–"));
    const legend = el(
      "span", { class: "legend" },
      ...about.lines.map(([name], n) => el("span", { class: `s${this.colours[n]}` }, `${name} `, this.values[n])),
    );
    this.place = el("div", { class: "plot empty", role: "img", "aria-label": `${about.title}: too early to draw` });
    this.node = el("figure", { class: "chart", id: `chart-${about.id}` }, el("figcaption", {}, about.title, legend), this.place);
    this.plot = null;
    new ResizeObserver(() => this.resize()).observe(this.place);
  }

  resize() {
    if (this.plot && this.place.clientWidth) this.plot.setSize({ width: this.place.clientWidth, height: 170 });
  }

  /** Forget the drawing: its colours have changed. */
  drop() {
    this.plot?.destroy();
    this.plot = null;
  }

  show(series, isRecent) {
    const lines = this.about.lines.map(([, take]) => take(series));
    const drawn = isRecent && this.about.unit !== short && this.about.id !== "machine" ? lines.map(smooth) : lines;
    const enough = series.t.length > 2;
    this.place.classList.toggle("empty", !enough);
    if (!enough) {
      this.drop();
      return;
    }
    const data = [series.t, ...drawn];
    if (this.plot) this.plot.setData(data);
    else this.plot = new uPlot(this.options(), data, this.place);
    this.tell(drawn.map((line) => line.at(-1)));
  }

  tell(last) {
    last.forEach((value, n) => { this.values[n].textContent = this.about.unit(value); });
    const words = this.about.lines.map(([name], n) => `${name} ${this.about.unit(last[n])}`).join(", ");
    this.place.setAttribute("aria-label", `${this.about.title}, now: ${words}`);
  }

  options() {
    const [quiet, grid] = [colour("--quiet"), colour("--grid")];
    const axis = { stroke: quiet, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: `12px ${colour("--font")}` };
    const unit = this.about.unit === rate ? short : this.about.unit;
    const single = this.about.lines.length === 1;
    return {
      width: this.place.clientWidth || 400,
      height: 170,
      legend: { show: false },
      cursor: { y: false, sync: { key: "time" }, points: { size: 6 } },
      padding: [8, 4, 0, 0],
      scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, FLOORS.get(this.about.unit))] } },
      axes: [
        { ...axis, size: 26, space: 80, incrs: STEPS, values: timeLabels },
        { ...axis, size: 64, space: 34, values: (_, ticks) => ticks.map((tick) => unit(tick)) },
      ],
      series: [
        {},
        ...this.about.lines.map((_, n) => {
          const stroke = colour(`--c${this.colours[n]}`);
          return { stroke, width: 1.75, points: { show: false }, spanGaps: true, fill: single ? `${stroke}22` : undefined };
        }),
      ],
      hooks: { setCursor: [(plot) => this.point(plot)] },
    };
  }

  /** The legend says what is under the pointer, or else the last values. */
  point(plot) {
    const index = plot.cursor.idx ?? plot.data[0].length - 1;
    this.values.forEach((node, n) => { node.textContent = this.about.unit(plot.data[n + 1][index]); });
  }
}

function timeLabels(plot, ticks, _, __, step) {
  const hours = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const parts = step < 60 ? { ...hours, second: "2-digit" } : step < 86400 ? hours : { month: "short", day: "numeric" };
  const format = new Intl.DateTimeFormat("en", parts);
  return ticks.map((tick) => format.format(tick * 1000));
}

export class Charts {
  constructor() {
    this.all = CHARTS.map((about) => new Chart(about));
    byId("charts").replaceChildren(...this.all.map((chart) => chart.node));
    this.range = "recent";
    for (const button of document.querySelectorAll("[data-range]")) {
      button.addEventListener("click", () => this.choose(button.dataset.range));
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.all.forEach((chart) => chart.drop());
      this.show(this.series);
    });
  }

  choose(range) {
    this.range = range;
    for (const button of document.querySelectorAll("[data-range]")) {
      button.setAttribute("aria-pressed", String(button.dataset.range === range));
    }
    this.show(this.series);
  }

  /** `series`: `recent` and `whole`, each a list of values for every name, and `t` in Unix seconds. */
  show(series) {
    this.series = series;
    if (series) this.all.forEach((chart) => chart.show(series[this.range], this.range === "recent"));
  }
}

