// A table in a canvas: only the cells that are visible are drawn.

const ROW = 26;
const PADDING = 12;
const WIDTHS = { measured_at: 200, station: 120 };
const WIDTH = 112;
const DIGITS = { temperature: 1, humidity: 1, pressure: 2, wind: 1, rain: 1 };

/** Draws columns of `{name, values}` into the element, which scrolls. */
export function drawGrid(element, columns, rows) {
  const places = [];
  let width = 0;
  for (const { name } of columns) {
    places.push(width);
    width += WIDTHS[name] ?? WIDTH;
  }
  places.push(width);

  const canvas = element.appendChild(document.createElement("canvas"));
  const extent = element.appendChild(document.createElement("div"));
  extent.style.width = `${width}px`;
  const pen = canvas.getContext("2d");

  function draw() {
    const [wide, high] = [element.clientWidth, element.clientHeight];
    const scale = window.devicePixelRatio;
    canvas.width = Math.round(wide * scale);
    canvas.height = Math.round(high * scale);
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${high}px`;
    // The canvas stands in the flow, so the rest of the extent is what remains below it.
    extent.style.height = `${Math.max(0, (rows + 1) * ROW - high)}px`;
    const color = (name) => getComputedStyle(element).getPropertyValue(`--${name}`);
    const [ink, faint, line, stripe] = ["ink", "faint", "line", "stripe"].map(color);
    pen.scale(scale, scale);
    pen.textBaseline = "middle";
    const first = Math.floor(element.scrollTop / ROW);
    const last = Math.min(rows, first + Math.ceil(high / ROW) + 1);
    const top = (row) => (row + 1) * ROW - element.scrollTop;

    pen.fillStyle = stripe;
    for (let row = first + (first % 2 ? 0 : 1); row < last; row += 2) {
      pen.fillRect(0, top(row), wide, ROW);
    }
    columns.forEach(({ name, values }, index) => {
      const left = places[index] - element.scrollLeft;
      const space = places[index + 1] - places[index];
      if (left + space < 0 || left > wide) return;
      const read = Array.isArray(values) || ArrayBuffer.isView(values)
        ? (row) => values[row] : (row) => values.at(row);
      const isText = name === "station" || name === "measured_at" || name === "is_valid";
      const at = isText ? left + PADDING : left + space - PADDING;
      pen.save();
      pen.beginPath();
      pen.rect(left, 0, space, high);
      pen.clip();
      pen.textAlign = isText ? "left" : "right";
      pen.font = "13px system-ui, sans-serif";
      for (let row = first; row < last; row += 1) {
        const value = read(row);
        pen.fillStyle = value === null ? faint : ink;
        pen.fillText(shown(name, value), at, top(row) + ROW / 2);
      }
      pen.fillStyle = color("head");
      pen.fillRect(left, 0, space, ROW);
      pen.fillStyle = ink;
      pen.font = "600 13px system-ui, sans-serif";
      pen.fillText(name, at, ROW / 2);
      pen.restore();
    });
    pen.fillStyle = color("head");
    pen.fillRect(width - element.scrollLeft, 0, wide, ROW);
    pen.fillStyle = line;
    pen.fillRect(0, ROW - 1, wide, 1);
  }

  let isDue = false;
  const redraw = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      draw();
    });
  };
  element.addEventListener("scroll", redraw, { passive: true });
  new ResizeObserver(redraw).observe(element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  draw();
}

function shown(name, value) {
  if (value === null) return "–";
  if (name === "measured_at") return new Date(value).toISOString().slice(0, 19).replace("T", " ");
  return name in DIGITS ? value.toFixed(DIGITS[name]) : String(value);
}
