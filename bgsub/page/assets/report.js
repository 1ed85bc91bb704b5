"use strict";
// The page of a result: the timeline, the views and the tables show one frame together.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const VIEWS = data.films.map((film) => film.view);

const model = (() => {
  const numbers = unpackIntegers(data.frames);
  const shown = unpackIntegers(data.shown);
  const curves = {};
  for (const [name, text] of Object.entries(data.curves)) curves[name] = unpackFloats(text);
  const events = data.events;
  return {
    numbers,
    times: unpackIntegers(data.times).map((micro) => micro / 1e6),
    shown,
    shownNumbers: shown.map((place) => numbers[place]),
    curves,
    events,
    isOutlier: unpackFlags(data.outliers),
    isDoubtful: unpackFlags(data.doubtful),
    cutoff: data.cutoff,
    change: data.change,
    summary: `${numbers.length} frames, ${events.length} events.`,
  };
})();

const boxes = (() => {
  if (!data.boxes) return null;
  const places = unpackIntegers(data.boxes.places);
  const tracks = unpackIntegers(data.boxes.tracks);
  const sides = unpackFloats(data.boxes.sides);
  return (place) => {
    const found = [];
    let i = lastUpTo(places, place);
    if (places[i] !== place) return found;
    for (; i >= 0 && places[i] === place; i -= 1) {
      found.push({ track: tracks[i], box: sides.subarray(4 * i, 4 * i + 4) });
    }
    return found;
  };
})();

const films = {};
const stills = {};
let current = -1;
let isPlaying = false;

// ---------------------------------------------------------------- the frame that is shown

function select(place, { seek = true } = {}) {
  const bounded = Math.max(0, Math.min(place, model.numbers.length - 1));
  const isNew = bounded !== current;
  current = bounded;
  if (isNew) describe();
  if (!seek) return Promise.resolve();
  if (isPlaying) pause();
  const all = [...Object.values(films), ...Object.values(stills)];
  return Promise.all(all.map((each) => each.show(current).catch(() => {})));
}

function eventAt(place) {
  return model.events.find((event) => event.first <= place && place <= event.last);
}

function describe() {
  const number = model.numbers[current];
  const event = eventAt(current);
  byId("frame-number").textContent = number;
  byId("number").value = number;
  byId("slider").value = current;
  byId("slider").setAttribute("aria-valuetext", `frame ${number}`);
  byId("readout").textContent = readout(number, event);
  timeline.select(current);
  for (const row of document.querySelectorAll("tr.current")) row.classList.remove("current");
  const row = event && byId(`event-${event.number}`);
  if (row) row.classList.add("current");
  for (const view of VIEWS) {
    const place = films[view] ? films[view].nearest(current) : stills[view] && stills[view].nearest(current);
    const isOther = place !== undefined && place !== current;
    document.querySelector(`#view-${view} .stand`).textContent = isOther ? `frame ${model.numbers[place]}` : "";
  }
  drawBoxes();
}

function readout(number, event) {
  const i = lastUpTo(model.shown, current);
  const parts = [`Frame ${number}`, clock(model.times[current])];
  if (model.shown[i] === current) {
    const say = (name, text, unit = "") => {
      const v = model.curves[name] ? model.curves[name][i] : NaN;
      if (!Number.isNaN(v)) parts.push(`${text} ${Number(v.toPrecision(4))}${unit}`);
    };
    say("error", "error", " grey levels");
    say("whole", "score of the whole");
    say("place", "of a place");
    say("foreground", "foreground", " %");
  }
  if (model.isOutlier(current)) parts.push("outlier");
  if (model.isDoubtful(current)) parts.push("doubtful picture");
  if (event) parts.push(`event ${event.number}`);
  return parts.join(" · ");
}

function drawBoxes() {
  const layer = document.querySelector("#view-input svg");
  if (!layer) return;
  layer.replaceChildren();
  if (!boxes || !byId("boxes").checked) return;
  const size = Math.max(data.region[2] / 26, data.region[3] / 22);
  for (const { track, box } of boxes(current)) {
    const [x, y, width, height] = box;
    for (const name of ["rim", "box"]) layer.append(shape("rect", { class: name, x, y, width, height }));
    const top = y - size < data.region[1] ? y + height + size : y - size / 4;
    const text = shape("text", { x, y: top, "font-size": size });
    text.textContent = track;
    layer.append(text);
  }
}

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// ---------------------------------------------------------------- playing

function play() {
  const all = Object.values(films);
  if (!all.length) return;
  if (current === model.numbers.length - 1) select(0);
  const speed = Number(byId("speed").value);
  isPlaying = true;
  showPlaying();
  const [leader, ...others] = all;
  leader.onpicture = (place) => {
    select(place, { seek: false });
    const into = leader.video.currentTime - leader.origin - leader.times[leader.shown];
    for (const other of others) other.follow(place, into, speed);
    if (place >= model.numbers.length - 1) pause();
  };
  leader.onend = (place) => {
    select(place, { seek: false });
    pause();
  };
  for (const film of all) film.play(speed).catch(() => pause());
}

function pause() {
  if (!isPlaying) return;
  isPlaying = false;
  showPlaying();
  for (const film of Object.values(films)) film.pause();
  select(current);
}

function showPlaying() {
  byId("play").textContent = isPlaying ? "Pause" : "Play";
  byId("play").setAttribute("aria-pressed", String(isPlaying));
  byId("readout").setAttribute("aria-live", isPlaying ? "off" : "polite");
}

function togglePlay() {
  if (isPlaying) pause();
  else play();
}

function step(by) {
  pause();
  go(model.numbers[Math.max(0, Math.min(current + by, model.numbers.length - 1))]);
}

function stepEvent(by) {
  const starts = model.events.map((event) => event.peak);
  const next = by > 0 ? starts.findIndex((peak) => peak > current) : starts.findLastIndex((peak) => peak < current);
  if (next >= 0) location.hash = `event-${model.events[next].number}`;
}

function only(view) {
  const views = byId("views");
  const isAll = !view || views.dataset.only === view;
  if (isAll) delete views.dataset.only;
  else views.dataset.only = view;
  for (const name of VIEWS) {
    const isOne = !isAll && name === view;
    byId(`view-${name}`).classList.toggle("chosen", isOne);
    document.querySelector(`#view-${name} figcaption button`).setAttribute("aria-pressed", String(isOne));
  }
}

// ---------------------------------------------------------------- addresses: #event-3, #frame-560

function go(number) {
  const address = `#frame-${number}`;
  if (location.hash === address) follow();
  else location.hash = address;
}

function follow() {
  const [, kind, text] = location.hash.match(/^#(event|frame)-(\d+)$/) || [];
  if (!kind) return;
  const number = Number(text);
  if (kind === "frame") {
    select(lastUpTo(model.numbers, number));
    return;
  }
  const event = model.events.find((each) => each.number === number);
  if (event) select(event.peak);
}

function bringIntoView() {
  const { top, bottom } = byId("viewer").getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) byId("viewer").scrollIntoView({ block: "nearest" });
}

// ---------------------------------------------------------------- beginning

for (const facts of data.films) {
  const figure = byId(`view-${facts.view}`);
  const piece = figure.querySelector(".screenpiece");
  figure.querySelector("button").addEventListener("click", () => only(facts.view));
  if (facts.pictures && facts.pictures.length) addStills(facts, piece);
  if (!facts.src) continue;
  const video = piece.querySelector("video");
  video.width = facts.width;
  video.height = facts.height;
  films[facts.view] = new Film(video, facts);
  films[facts.view].ready.catch(() => fail(facts.view, piece));
}

function addStills(facts, piece) {
  const image = document.createElement("img");
  image.alt = `${facts.view} of the frame`;
  piece.prepend(image);
  piece.querySelector(".missing").classList.add("below");
  stills[facts.view] = new Stills(image, facts);
}

function fail(view, piece) {
  delete films[view];
  const words = document.createElement("p");
  words.className = "missing";
  words.textContent = "The video cannot be played: it has been moved or removed, or this browser does not know its codec.";
  piece.replaceChildren(words);
}

if (films.input) {
  const piece = document.querySelector("#view-input .screenpiece");
  piece.append(shape("svg", { viewBox: data.region.join(" "), preserveAspectRatio: "none", "aria-hidden": "true" }));
}
// The outline is drawn from a second copy of the mask, laid over the input.
const maskFacts = data.films.find((facts) => facts.view === "mask");
if (films.input && films.mask) {
  byId("outline").addEventListener("change", () => {
    if (!films.outline) {
      const over = document.createElement("video");
      Object.assign(over, { muted: true, playsInline: true, preload: "auto", tabIndex: -1 });
      over.className = "outline";
      over.setAttribute("aria-hidden", "true");
      document.querySelector("#view-input video").after(over);
      films.outline = new Film(over, maskFacts);
      films.outline.show(current);
    }
    films.outline.video.hidden = !byId("outline").checked;
  });
} else {
  byId("outline").closest("label").hidden = true;
}
if (!boxes || !films.input) byId("boxes-label").hidden = true;

const timeline = new Timeline(byId("charts"), model, (place) => go(model.numbers[place]));

byId("play").addEventListener("click", togglePlay);
byId("back").addEventListener("click", () => step(-1));
byId("forward").addEventListener("click", () => step(1));
byId("next-event").addEventListener("click", () => stepEvent(1));
byId("previous-event").addEventListener("click", () => stepEvent(-1));
byId("boxes").addEventListener("change", drawBoxes);
byId("slider").addEventListener("input", (event) => select(Number(event.target.value)));
byId("slider").addEventListener("change", () => go(model.numbers[current]));
byId("number").max = model.numbers[model.numbers.length - 1];
byId("number").addEventListener("change", (event) => {
  const number = Number(event.target.value);
  if (Number.isFinite(number)) go(model.numbers[lastUpTo(model.numbers, number)]);
});
byId("speed").addEventListener("change", () => {
  if (!isPlaying) return;
  pause();
  play();
});

addEventListener("hashchange", () => {
  follow();
  bringIntoView();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("a[href^='#']");
  if (link && link.getAttribute("href") === location.hash) {
    follow(); // the same address again is no change of it
    bringIntoView();
  }
});

const KEYS = {
  " ": togglePlay,
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  n: () => stepEvent(1),
  p: () => stepEvent(-1),
  0: () => only(null),
};
VIEWS.forEach((view, i) => { KEYS[i + 1] = () => only(view); });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || !KEYS[event.key]) return;
  const { target } = event;
  if (target.matches("input:not([type=checkbox]), select, textarea")) return;
  if (event.key === " " && target.matches("button, a, summary, input")) return;
  if (event.key.startsWith("Arrow") && target.matches(".scroll, pre")) return;
  event.preventDefault();
  KEYS[event.key]();
});

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

if (/^#(event|frame)-\d+$/.test(location.hash)) {
  follow();
  bringIntoView();
} else {
  select(model.events.length ? model.events[0].peak : 0);
}
document.documentElement.dataset.ready = "yes";
