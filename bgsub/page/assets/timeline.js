"use strict";
// The charts: error, scores and foreground of every frame, with events as numbered bands.

const CHARTS = [
  { id: "error", title: "Error (RMS, grey levels)", curves: ["error"], height: 120 },
  { id: "score", title: "Score", curves: ["place", "whole"], height: 130, cutoff: true, log: true },
  { id: "foreground", title: "Foreground (% of the picture)", curves: ["foreground"], height: 105 },
];
const CURVES = {
  error: { label: "error", color: "--error" },
  whole: { label: "score of the whole frame", color: "--whole" },
  place: { label: "score of a place", color: "--place" },
  foreground: { label: "foreground", color: "--foreground" },
};
// Errors this many times their median would flatten all others on a linear axis.
const LOG_SPREAD = 6;

class Timeline {
  constructor(parent, model, onselect) {
    this.parent = parent;
    this.model = model;
    this.onselect = onselect;
    this.place = 0;
    this.plots = [];
    this.draw();
    new ResizeObserver(() => this.resize()).observe(parent);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  draw() {
    for (const plot of this.plots) plot.destroy();
    this.parent.replaceChildren();
    const { model } = this;
    const shown = CHARTS.filter((chart) => chart.curves.some((name) => model.curves[name]));
    this.plots = shown.map((chart, i) => this.chart(chart, i === shown.length - 1));
    if (!shown.length) this.parent.textContent = "The run wrote no errors and no masks.";
    this.width = this.parent.clientWidth;
  }

  chart(chart, isLast) {
    const { model } = this;
    const names = chart.curves.filter((name) => model.curves[name]);
    const figure = document.createElement("figure");
    figure.className = "chart";
    const caption = document.createElement("figcaption");
    caption.append(chart.title);
    for (const name of names.length > 1 ? names : []) caption.append(this.key(name));
    if (chart.cutoff && model.cutoff !== null) {
      caption.append(this.key(null, `cut-off ${Number(model.cutoff.toPrecision(3))}`));
    }
    figure.append(caption);
    this.parent.append(figure);
    const values = names.map((name) => model.curves[name]);
    const isLog = chart.log || (chart.id === "error" && spreads(values[0]));
    const data = values.map((curve) => (chart.log ? curve.map((v) => Math.max(v, 1)) : curve));
    const options = this.options(chart, names, isLog, isLast, figure.clientWidth);
    const plot = new uPlot(options, [model.shownNumbers, ...data], figure);
    plot.root.setAttribute("role", "img");
    plot.root.setAttribute("aria-label", `${chart.title} of every frame. ${model.summary}`);
    return plot;
  }

  key(name, text) {
    const key = document.createElement("span");
    key.className = name ? `key key-${name}` : "key key-cutoff";
    key.textContent = text || CURVES[name].label;
    return key;
  }

  options(chart, names, isLog, isLast, width) {
    const text = look("--quiet");
    const grid = { stroke: look("--grid"), width: 1 };
    const series = names.map((name) => ({
      label: CURVES[name].label,
      stroke: look(CURVES[name].color),
      width: 1.2,
      points: { show: this.model.shown.length < 150 },
      spanGaps: false,
    }));
    const font = "12px system-ui, sans-serif";
    const axis = { stroke: text, grid, ticks: grid, font };
    const x = { ...axis, size: isLast ? 44 : 12, values: isLast ? (u, at) => this.labels(at) : () => [] };
    const y = { ...axis, size: 52, values: (u, at) => at.map((v) => (v === null ? "" : short(v))) };
    if (isLog) {
      const filter = (u, at) => at.map((v) => (isRound(v, at) ? v : null));
      Object.assign(y, { filter, grid: { ...grid, filter }, ticks: { ...grid, filter } });
    }
    return {
      width,
      height: chart.height + (isLast ? 32 : 0),
      padding: [14, 28, 0, 0], // half of the last number is beyond the axis
      legend: { show: false },
      cursor: {
        sync: { key: "frames", setSeries: false },
        drag: { x: true, y: false, dist: 4 },
        points: { size: 6 },
      },
      scales: { x: { time: false }, y: { distr: isLog ? 3 : 1, range: isLog ? undefined : fromZero } },
      axes: [x, y],
      series: [{ label: "frame" }, ...series],
      hooks: {
        drawClear: [(u) => this.drawBands(u)],
        draw: [(u) => this.drawMarks(u, chart)],
        setScale: [(u, key) => { if (key === "x") this.zoom(u); }],
        ready: [(u) => this.listen(u)],
      },
    };
  }

  // Numbers of frames and, below, their times.
  labels(at) {
    const { numbers, times } = this.model;
    return at.map((number) => {
      if (!Number.isInteger(number)) return "";
      return `${number}\n${shortClock(times[lastUpTo(numbers, number)])}`;
    });
  }

  listen(u) {
    let down = 0;
    u.over.addEventListener("mousedown", (event) => { down = event.clientX; });
    u.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - down) > 3 || u.cursor.left < 0) return;
      const number = u.posToVal(u.cursor.left, "x");
      const { numbers } = this.model;
      const left = lastUpTo(numbers, number);
      const right = Math.min(left + 1, numbers.length - 1);
      this.onselect(numbers[right] - number < number - numbers[left] ? right : left);
    });
  }

  // All charts show the same frames.
  zoom(u) {
    const { min, max } = u.scales.x;
    for (const other of this.plots) {
      if (other !== u && (other.scales.x.min !== min || other.scales.x.max !== max)) {
        other.setScale("x", { min, max });
      }
    }
  }

  drawBands(u) {
    const { ctx, bbox } = u;
    const { numbers, events, change } = this.model;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
    ctx.clip();
    if (change !== null) {
      const left = u.valToPos(numbers[change] - 0.5, "x", true);
      ctx.fillStyle = look("--changed");
      ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
    }
    ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "bottom";
    let taken = -Infinity;
    for (const event of events) {
      const left = u.valToPos(numbers[event.first] - 0.5, "x", true);
      const right = u.valToPos(numbers[event.last] + 0.5, "x", true);
      if (right < bbox.left || left > bbox.left + bbox.width) continue;
      ctx.fillStyle = look("--band");
      ctx.fillRect(left, bbox.top, Math.max(right - left, ratio), bbox.height);
      const middle = (Math.max(left, bbox.left) + Math.min(right, bbox.left + bbox.width)) / 2;
      const room = ctx.measureText(event.number).width / 2 + 2 * ratio;
      if (middle - room > taken && u === this.plots[0]) {
        ctx.fillStyle = look("--text");
        ctx.fillText(event.number, middle, bbox.top - ratio);
        taken = middle + room;
      }
    }
    ctx.restore();
  }

  drawMarks(u, chart) {
    const { ctx, bbox } = u;
    const { numbers, cutoff } = this.model;
    const ratio = devicePixelRatio;
    ctx.save();
    if (chart.cutoff && cutoff !== null) {
      const y = u.valToPos(cutoff, "y", true);
      ctx.strokeStyle = look("--text");
      ctx.lineWidth = 1.2 * ratio;
      ctx.setLineDash([6 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    const x = u.valToPos(numbers[this.place], "x", true);
    if (x >= bbox.left && x <= bbox.left + bbox.width) {
      ctx.strokeStyle = look("--cursor");
      ctx.lineWidth = 2 * ratio;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  // Move the cursor to a frame, and the part that is shown with it.
  select(place) {
    this.place = place;
    const number = this.model.numbers[place];
    for (const plot of this.plots) {
      const { min, max } = plot.scales.x;
      if (number < min || number > max) {
        plot.setScale("x", { min: number - (max - min) / 2, max: number + (max - min) / 2 });
      } else {
        plot.redraw(false, false);
      }
    }
  }

  resize() {
    const width = this.parent.clientWidth;
    if (width === this.width) return;
    this.width = width;
    for (const plot of this.plots) plot.setSize({ width, height: plot.height });
  }
}

function look(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function fromZero(u, low, high) {
  return [0, high > 0 ? high * 1.08 : 1];
}

function spreads(values) {
  const sorted = Float32Array.from(values).sort();
  const median = sorted[sorted.length >> 1];
  return median > 0 && sorted[0] > 0 && sorted[sorted.length - 1] > LOG_SPREAD * median;
}

function short(value) {
  return Math.abs(value) >= 1e5 ? value.toExponential(0) : String(Number(value.toPrecision(4)));
}

// Of a logarithmic axis, the ticks that have room for a number: 1, 2 and 5, or 1 alone.
function isRound(value, all) {
  const leading = Number(value.toExponential()[0]);
  const decades = Math.log10(all[all.length - 1] / all[0]);
  return leading === 1 || (decades < 1.6 && (leading === 2 || leading === 5));
}

function shortClock(seconds) {
  const [hours, minutes, rest] = clock(Math.round(10 * seconds) / 10).split(":");
  const tail = Number(rest).toFixed(1).padStart(4, "0").replace(/\.0$/, "");
  return hours === "00" ? `${Number(minutes)}:${tail}` : `${Number(hours)}:${minutes}:${tail}`;
}
