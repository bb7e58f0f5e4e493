// Pictures: maps on canvas, lines as SVG. They take their colours from the style sheet.

const SVG = "http://www.w3.org/2000/svg";
// Blue, white, red: MNE's colours of maps, which people who see no green or no red tell apart.
const STOPS = [[5, 48, 97], [67, 147, 195], [247, 247, 247], [214, 96, 77], [103, 0, 31]];
const MARGIN = { left: 44, right: 8, top: 8, bottom: 20 };

function colour(value) {
  const place = (Math.max(-1, Math.min(1, value)) + 1) / 2 * (STOPS.length - 1);
  const k = Math.min(STOPS.length - 2, Math.floor(place));
  return STOPS[k].map((low, i) => low + (STOPS[k + 1][i] - low) * (place - k));
}

function picture(encoded, pixels) {
  const values = Int8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
  const square = document.createElement("canvas");
  square.width = square.height = pixels;
  const context = square.getContext("2d"), image = context.createImageData(pixels, pixels);
  values.forEach((value, k) => image.data.set([...colour(value / 100), 255], 4 * k));
  context.putImageData(image, 0, 0);
  return square;
}

function ink(element) {
  return getComputedStyle(element).color;
}

// Draw the map of a component seen from above, the nose up; bars where there are no places.
export function drawMap(canvas, topographies, component, dots) {
  const context = canvas.getContext("2d"), { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  if (!topographies.maps) return drawBars(canvas, topographies.weights[component]);
  const radius = 0.46 * Math.min(width, height / 1.07), x = width / 2, y = height - radius - 0.02 * height;
  context.save();
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.clip();
  context.imageSmoothingQuality = "high";
  context.drawImage(picture(topographies.maps[component], topographies.pixels),
    x - radius, y - radius, 2 * radius, 2 * radius);
  context.restore();
  context.strokeStyle = context.fillStyle = ink(canvas);
  context.lineWidth = width / 100;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.moveTo(x - 0.12 * radius, y - 0.993 * radius);
  context.lineTo(x, y - 1.13 * radius);
  context.lineTo(x + 0.12 * radius, y - 0.993 * radius);
  context.stroke();
  if (!dots) return;
  context.fillStyle = "#222";
  for (const [right, front] of topographies.places) {
    context.beginPath();
    context.arc(x + right * radius, y - front * radius, width / 130, 0, 2 * Math.PI);
    context.fill();
  }
}

function drawBars(canvas, weights) {
  const context = canvas.getContext("2d"), { width, height } = canvas, step = width / weights.length;
  weights.forEach((weight, k) => {
    context.fillStyle = `rgb(${colour(Math.sign(weight) * 0.6).join()})`;
    const tall = 0.48 * height * weight;
    context.fillRect(k * step, height / 2 - Math.max(tall, 0), 0.8 * step, Math.abs(tall));
  });
}

function add(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// Some round numbers between two others.
function roundNumbers(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((k) => k * power >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// Draw lines over one axis. `lines` are [values, class], spread evenly from x[0] to x[1], or over
// the values of `at`; `events` are places of ticks; `spoken` says it for those who do not see it.
export function drawLines(svg, { lines, x, at, events = [], spoken, height = 130 }) {
  const width = Math.max(120, svg.parentElement.clientWidth);
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("aria-label", spoken);
  const all = lines.flatMap(([values]) => values);
  let low = Math.min(...all), high = Math.max(...all);
  if (!(high > low)) [low, high] = [low - 1, low + 1];
  const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
  const across = (value) => MARGIN.left + (right - MARGIN.left) * (value - x[0]) / (x[1] - x[0]);
  const up = (value) => bottom - (bottom - MARGIN.top) * (value - low) / (high - low);
  for (const value of roundNumbers(low, high, 5)) {
    add(svg, "line", { x1: MARGIN.left, x2: right, y1: up(value), y2: up(value), class: "grid" });
    add(svg, "text", { x: MARGIN.left - 5, y: up(value) + 4, class: "y" }, value);
  }
  for (const value of roundNumbers(x[0], x[1], Math.max(3, width / 70))) {
    add(svg, "text", { x: across(value), y: height - 5, class: "x" }, value);
  }
  for (const value of events) {
    if (value < x[0] || value > x[1]) continue;
    add(svg, "line", { x1: across(value), x2: across(value), y1: bottom - 7, y2: bottom, class: "event" });
  }
  for (const [values, name] of lines) {
    const last = Math.max(1, values.length - 1);
    const points = values.map((value, k) => {
      const place = at ? at[k] : x[0] + (x[1] - x[0]) * k / last;
      return `${across(place).toFixed(1)},${up(value).toFixed(1)}`;
    });
    add(svg, "polyline", { points: points.join(" "), class: name });
  }
}
