// The review page: what is shown, the keys, and the requests.
import { drawLines, drawMap } from "./draw.js";
import { ask, at, element, known, nameOf, percent, show, tell } from "./page.js";

const MARKS = { failed: "✕", poor: "!", unsure: "?", none: "–", cleaned: "✓" };
// Columns that are shown in words elsewhere
const TOLD = ["component", "type", "description", "status", "status_description", "annotate_method",
  "annotate_author", "who", "when", "note", "kind"];
const UNITS = { rate: [1, "/min"], width: [1e3, "ms"], height: [1, "SD"], amplitude: [1e6, "µV"] };

let study = null; // all recordings
let index = 0; // of the recording that is shown
let recording = null; // its components
let component = 0;
let view = { channel: null, start: null }; // null is what the server finds best
let effect = null;
let course = null;

// The list of recordings

function showList() {
  at("study").textContent = `Review of ${study.name}`;
  document.title = `Review of ${study.name}`;
  at("position").textContent = `${index + 1} of ${study.recordings.length}`;
  at("recordings").replaceChildren(...study.recordings.map((one, k) => {
    const told = [];
    if (one.harm !== null) told.push(`harm ${percent(one.harm)}`);
    if (one.stability !== null) told.push(`stability ${one.stability.toFixed(2)}`);
    if (one.changed) told.push("changed");
    const button = element("button", { type: "button" },
      element("span", { className: `status ${one.status}` }, MARKS[one.status] || "", " "), one.label,
      element("small", {}, [one.status, ...told].join(" · ")));
    button.setAttribute("aria-current", k === index);
    button.addEventListener("click", () => openRecording(k));
    return element("li", {}, button);
  }));
  const changed = study.recordings.filter((one) => one.changed).length;
  show("changed", changed && `${changed} changed since the last run; mne_otica run applies it.`);
  at("recordings").children[index]?.scrollIntoView({ block: "nearest" });
}

function showSummary() {
  const one = study.recordings[index];
  at("label").textContent = one.label;
  at("message").replaceChildren(
    element("span", { className: `status ${one.status}` }, `${MARKS[one.status] || ""} ${one.status}`), `: ${one.message}`,
    ...(one.warnings ? [element("details", { className: "soft" }, element("summary", {}, "Warnings"), one.warnings)] : []));
  at("previous").disabled = index === 0;
  at("next").disabled = index === study.recordings.length - 1;
}

// A recording and its components

const number = (cell) => known(cell) && Number.isFinite(Number(cell)) ? Number(cell) : null;

/** Describe a component by its row of the table, which may have been edited. */
function glance(row) {
  const chances = recording.kinds.map((kind) => number(row[kind]));
  const chance = Math.max(0, ...chances), label = row.ic_type || "";
  const kind = recording.kinds[chances.indexOf(chance)];
  const told = kind === undefined || ["brain", "other"].includes(label) ? label : `${kind} ${chance.toFixed(2)}`;
  return { told, chance, trust: number(row.stability) };
}

let opening = 0;
async function openRecording(k, wanted = null) {
  const order = ++opening;
  index = k;
  recording = effect = course = null;
  view = { channel: null, start: null };
  history.replaceState(null, "", `#${k}`);
  showList();
  showSummary();
  for (const id of ["components", "component", "effect", "report", "shared", "problem"]) at(id).hidden = true;
  tell("Opening …");
  try {
    const found = await ask(`api/recording?recording=${k}`);
    if (order !== opening) return;
    recording = { ...found, index: k };
    study.recordings[k].changed = found.changed;
    showList();
    showRecording(wanted);
    tell("");
  } catch (error) {
    if (order === opening) tell(error.message, true);
  }
}

function showRecording(wanted) {
  show("problem", recording.problem);
  show("shared", recording.shared.length && `One ICA for this and ${recording.shared.join(", ")}: decisions hold for all.`);
  at("report").hidden = !recording.has_report;
  at("report").href = `report?recording=${index}`;
  if (!recording.components.length) return;
  for (const id of ["components", "component"]) at(id).hidden = false;
  at("effect").hidden = !recording.has_signals;
  for (const id of ["course-figure", "spectrum-figure"]) at(id).hidden = !recording.has_signals;
  if (!recording.has_signals) show("problem", "The recording was moved or deleted, so there are no time courses and no preview.");
  at("places").textContent = recording.topographies.source === "standard" ? "at standard positions, as the recording has none" : "";
  at("kind").replaceChildren(new Option("as found", ""), ...recording.kinds.map((kind) => new Option(kind)));
  at("channel").replaceChildren(...recording.channels.map((name, k) => new Option(name, k)));
  showMaps();
  chooseComponent(wanted ?? bestComponent());
  refresh();
}

// The component to look at first: one that is removed, else the best candidate.
function bestComponent() {
  const bad = recording.components.findIndex((row) => row.status === "bad");
  const chances = recording.components.map((row) => glance(row).chance);
  return bad >= 0 ? bad : chances.indexOf(Math.max(...chances));
}

function showMaps() {
  at("maps").replaceChildren(...recording.components.map((row, k) => {
    const canvas = element("canvas", { width: 160, height: 170 });
    const button = element("button", { type: "button" }, canvas, element("span"));
    button.addEventListener("click", () => chooseComponent(k));
    drawMapSoon(canvas, k);
    return button;
  }));
  markMaps();
}

function drawMapSoon(canvas, k, dots = false) {
  requestAnimationFrame(() => recording && drawMap(canvas, recording.topographies, k, dots));
}

function markMaps() {
  recording.components.forEach((row, k) => {
    const button = at("maps").children[k], bad = row.status === "bad", { told, trust } = glance(row);
    const trusted = trust === null ? "" : `stability ${trust.toFixed(2)}`, all = [told, trusted].filter(known);
    button.className = row.status;
    button.setAttribute("aria-pressed", k === component);
    button.setAttribute("aria-label", `${nameOf(k)}, ${[bad ? "removed" : "kept", ...all].join(", ")}`);
    button.lastChild.replaceChildren(element("b", {}, `${bad ? "✕ " : ""}${nameOf(k)}`),
      ...all.flatMap((words) => [element("br"), words]));
  });
}

async function chooseComponent(k) {
  component = k;
  course = null;
  markMaps();
  at("maps").children[k].scrollIntoView({ block: "nearest", inline: "nearest" });
  showComponent();
  if (!recording.has_signals) return;
  const asked = recording;
  try {
    const found = await ask(`api/component?recording=${index}&component=${k}`);
    if (asked !== recording || k !== component) return;
    course = found;
    showCourse();
  } catch (error) {
    if (asked === recording) tell(error.message, true);
  }
}

function showComponent() {
  const row = recording.components[component], bad = row.status === "bad";
  at("component-name").textContent = `${nameOf(component)}: ${bad ? "removed" : "kept"}`;
  at("flip-text").textContent = bad ? "Keep it" : "Remove it";
  at("kind").value = known(row.kind) ? row.kind : "";
  at("map").setAttribute("aria-label", `Map of ${nameOf(component)}, seen from above`);
  drawMapSoon(at("map"), component, true);
  at("reason").textContent = known(row.status_description) ? row.status_description : "No sign of an artifact.";
  show("decided", known(row.who) && `Decided by ${row.who}, ${known(row.when) ? new Date(row.when).toLocaleString() : ""}`);
  show("component-note", known(row.note) && `Note: ${row.note}`);
  at("figures").replaceChildren(...Object.entries(row)
    .filter(([name, value]) => !TOLD.includes(name) && known(value))
    .map(([name, value]) => element("div", {}, element("dt", {}, name.replaceAll("_", " ")),
      element("dd", {}, figure(name, value)))));
}

function figure(name, value) {
  const [scale, unit] = UNITS[name] || [1, ""];
  return Number.isFinite(Number(value)) ? `${Number((scale * value).toPrecision(3))} ${unit}` : value;
}

function showCourse() {
  if (!course) return;
  const events = effect ? effect.events : [];
  drawLines(at("course"), { lines: [[course.course, "course"]], x: [0, course.seconds], events, height: 110,
    spoken: `Time course of ${nameOf(component)} over ${course.seconds.toFixed(0)} s, ${events.length} events` });
  const peak = course.freqs[course.power.indexOf(Math.max(...course.power))];
  drawLines(at("spectrum"), { lines: [[course.power, "course"]], at: course.freqs, height: 100,
    x: [course.freqs[0], course.freqs.at(-1)], spoken: `Spectrum of ${nameOf(component)}, highest at ${peak} Hz` });
}

// What the choice does

let asking = false, stale = false;
async function refresh() {
  if (!recording || !recording.has_signals || !recording.components.length) return;
  at("effect").setAttribute("aria-busy", true);
  stale = true;
  if (asking) return; // the newest question is asked when the answer to this one is there
  asking = true;
  while (stale) {
    stale = false;
    const asked = recording;
    const query = new URLSearchParams({ recording: index, component });
    for (const [name, value] of Object.entries(view)) if (value !== null) query.set(name, value);
    try {
      const found = await ask(`api/effect?${query}`);
      if (asked === recording && !stale) {
        effect = found;
        view = { channel: found.channel, start: found.start };
        showEffect();
      }
    } catch (error) {
      if (asked === recording) tell(error.message, true);
    }
  }
  asking = false;
  at("effect").setAttribute("aria-busy", false);
}

function showEffect() {
  const last = study.recordings[index], names = effect.removed.map(nameOf);
  // One benefit and one harm of each kind, with those of the last run if they differ
  const compared = (what, one) => {
    const before = last.kinds.find((other) => other.kind === one.kind)?.[what];
    const told = percent(one[what]) === percent(before) ? "" : ` (last run ${percent(before)})`;
    return [`${what} ${percent(one[what])}`, element("small", {}, told)];
  };
  at("numbers").replaceChildren(
    element("div", {}, element("dt", {}, "Removed"), element("dd", {}, names.join(", ") || "none")),
    ...effect.kinds.map((one) => element("div", {}, element("dt", {}, one.kind),
      element("dd", {}, ...compared("benefit", one), ", ", ...compared("harm", one)))));
  show("verdict", effect.verdict !== last.message && `With this choice: ${effect.verdict}.`);
  at("channel").value = effect.channel;
  const average = effect.average;
  at("average-figure").hidden = !average;
  at("traces").classList.toggle("lone", !average);
  const channel = recording.channels[effect.channel], end = effect.start + effect.length;
  at("traces-title").textContent = `${channel} (µV), ${effect.start.toFixed(1)} to ${end.toFixed(1)} s of ${effect.seconds.toFixed(0)} s`;
  drawLines(at("before-after"), { lines: [[effect.before, "before"], [effect.after, "after"]], x: [effect.start, end],
    events: effect.events, height: 170, spoken: `${channel} before and after, ${effect.start.toFixed(1)} to ${end.toFixed(1)} s` });
  if (average) {
    at("average-title").textContent = `Mean of ${average.n_events} ${effect.kind}`;
    drawLines(at("average"), { lines: [[average.before, "before"], [average.after, "after"]], x: [-average.half, average.half],
      height: 170, spoken: `Mean of ${channel} over ${average.n_events} ${effect.kind} before and after` });
  }
  at("earlier").disabled = effect.start <= 0;
  at("after-that").disabled = end >= effect.seconds;
  showCourse();
}

function chooseChannel(k) {
  if (!effect) return;
  const count = recording.channels.length;
  view.channel = (k + count) % count;
  at("channel").value = view.channel;
  refresh();
}

function moveWindow(direction) {
  if (!effect) return;
  const last = Math.max(0, effect.seconds - effect.length);
  view.start = Number(Math.min(last, Math.max(0, view.start + direction * effect.length)).toFixed(3));
  refresh();
}

// Decisions, one after the other: each says which table it was made on

let queue = Promise.resolve();
function decide(change) {
  const asked = recording, k = component;
  const row = asked.components[k], before = { ...row };
  Object.assign(row, change);
  markMaps();
  showComponent();
  tell("Saving …");
  queue = queue.then(async () => {
    try {
      const found = await ask("api/decision", { recording: asked.index, component: k, version: asked.version, ...change });
      Object.assign(asked, { version: found.version, components: found.components });
      study.recordings[asked.index].changed = found.changed;
      if (asked.shared.length) study = await ask("api/study");
      tell(`Saved: ${nameOf(k)} of ${asked.label}, ${new Date().toLocaleTimeString()}`);
      if (asked === recording && (change.status || (change.kind !== undefined && row.status === "bad"))) refresh();
    } catch (error) {
      Object.assign(row, before);
      tell(`Not saved. ${error.message}`, true);
      if (error.status === 409) showConflict(asked, error);
    }
    showList();
    if (asked !== recording) return;
    markMaps();
    showComponent();
  });
  return queue;
}

function flip() {
  if (!recording?.components.length) return;
  decide({ status: recording.components[component].status === "bad" ? "good" : "bad" });
}

function sayKind(kind) {
  if (recording?.components.length) decide({ kind });
}

function showConflict(asked, error) {
  const rows = error.content.components;
  const changes = rows.flatMap((row, k) => {
    const mine = asked.components[k], told = [];
    if (!mine || mine.status !== row.status) told.push(row.status === "bad" ? "is now removed" : "is now kept");
    if (known(row.note) && mine?.note !== row.note) told.push(`has the note “${row.note}”`);
    if (!told.length) return [];
    return [`${nameOf(row.component)} ${told.join(" and ")}${known(row.who) ? ` (${row.who})` : ""}`];
  });
  at("conflict-text").textContent = error.message;
  at("conflict-changes").replaceChildren(...changes.map((change) => element("li", {}, change)));
  at("conflict").showModal();
}

// Notes

let saveNote = null;
function writeNote(title, text, save) {
  at("note-title").textContent = title;
  at("note-text").value = text;
  saveNote = (changed) => { saveNote = null; if (changed !== text) return save(changed); };
  at("note").showModal();
  at("note-text").focus();
}

function noteOnComponent() {
  if (!recording?.components.length) return;
  const { note } = recording.components[component];
  writeNote(`Note on ${nameOf(component)} of ${recording.label}`, known(note) ? note : "", (text) => decide({ note: text }));
}

function keepNote() {
  const text = at("note-text").value;
  at("note").close();
  saveNote?.(text);
}

// Keys

const move = (step) => {
  const k = index + step;
  if (k >= 0 && k < study.recordings.length) openRecording(k);
};
const turn = (step) => {
  const count = recording?.components.length;
  if (count) chooseComponent((component + step + count) % count);
};
const KEYS = [
  [["j", "ArrowDown"], "next recording", () => move(1)],
  [["k", "ArrowUp"], "previous recording", () => move(-1)],
  [["ArrowRight"], "next component", () => turn(1)],
  [["ArrowLeft"], "previous component", () => turn(-1)],
  [["f"], "flip: remove the component, or keep it", flip],
  [["t"], "type: say which kind of artifact the component is", () => at("kind").focus()],
  [["n"], "note on the component", noteOnComponent],
  [["c"], "next channel", () => chooseChannel(view.channel + 1)],
  [["C"], "previous channel", () => chooseChannel(view.channel - 1)],
  [["."], "later in the recording", () => moveWindow(1)],
  [[","], "earlier in the recording", () => moveWindow(-1)],
  [["?"], "this help", () => at("help").showModal()],
];
const SHOWN = { ArrowDown: "↓", ArrowUp: "↑", ArrowRight: "→", ArrowLeft: "←" };
const ACTIONS = new Map(KEYS.flatMap(([keys, , act]) => keys.map((key) => [key, act])));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || !study) return;
  if (document.querySelector("dialog[open]") || event.target.closest("select, textarea, input")) return;
  const act = ACTIONS.get(event.key);
  if (!act) return;
  event.preventDefault();
  act();
});

for (const [id, act] of Object.entries({
  previous: () => move(-1), next: () => move(1), flip, earlier: () => moveWindow(-1), "after-that": () => moveWindow(1),
  "note-component": noteOnComponent,
  "open-help": ACTIONS.get("?"), "cancel-note": () => at("note").close(),
})) at(id).addEventListener("click", act);
at("kind").addEventListener("change", (event) => sayKind(event.target.value));
at("channel").addEventListener("change", (event) => chooseChannel(Number(event.target.value)));
at("note").querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); keepNote(); });
at("note").addEventListener("close", () => { saveNote = null; });
at("note-text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); keepNote(); }
});
at("conflict").addEventListener("close", () => openRecording(index, component));
addEventListener("pagehide", () => { if (at("note").open) keepNote(); });
addEventListener("resize", () => { showCourse(); if (effect) showEffect(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => recording?.components.length && (showMaps(), showComponent()));

at("keys").append(...KEYS.map(([keys, what]) => element("tr", {},
  element("td", {}, ...keys.flatMap((key, k) => [k ? " or " : "", element("kbd", {}, SHOWN[key] || key)])),
  element("td", {}, what))));

const narrow = matchMedia("(max-width: 60rem)");
const fold = () => { at("list").open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();
try {
  study = await ask("api/study");
  const wanted = Number(location.hash.slice(1));
  await openRecording(study.recordings[wanted] ? wanted : 0);
} catch (error) {
  tell(error.message, true);
}
