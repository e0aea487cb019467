// A canvas in the pixels of the screen, and what all pictures share.

const FONT = '11.5px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

// The room of a canvas; `plot` leaves place for the numbers at its left, and names at its bottom.
export function begin(canvas, { left = 46, right = 46, top = 8, bottom = 18 } = {}) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = FONT;
  pen.textBaseline = "middle";
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  const plot = { left, top, right: width - right, bottom: height - bottom };
  return { pen, color, plot, width, height };
}

// A moment's place: the latest second is the last one at the right.
export function timeScale(plot, latest, span) {
  const step = (plot.right - plot.left) / span;
  const x = (second) => plot.right - (latest + 1 - second) * step;
  return { x, step, first: latest - span + 1, latest };
}

export function timeAxis({ pen, color, plot, height }, time) {
  pen.textAlign = "center";
  for (let second = Math.ceil(time.first / 20) * 20; second <= time.latest; second += 20) {
    const x = Math.round(time.x(second)) + 0.5;
    pen.fillStyle = color("line");
    pen.fillRect(x - 0.5, plot.top, 1, plot.bottom - plot.top);
    pen.fillStyle = color("faint");
    if (x > plot.left + 24 && x < plot.right - 24) {
      pen.fillText(clock(second), x, height - 9);
    }
  }
}

// Lines with their numbers at the left; those of a second scale have only numbers, at the right.
export function grid({ pen, color, plot }, lines, second = []) {
  pen.textAlign = "right";
  for (const { y, text } of lines) {
    pen.fillStyle = color("line");
    pen.fillRect(plot.left, Math.round(y), plot.right - plot.left, 1);
    pen.fillStyle = color("faint");
    pen.fillText(text, plot.left - 6, y);
  }
  pen.textAlign = "left";
  for (const { y, text } of second) pen.fillText(text, plot.right + 6, y);
}

// A line of steps; it is interrupted where there is no value.
export function steps({ pen }, time, y, value) {
  pen.beginPath();
  let isDown = false;
  for (let second = time.first; second <= time.latest; second += 1) {
    const found = value(second);
    if (found === undefined) {
      isDown = false;
      continue;
    }
    if (isDown) pen.lineTo(time.x(second), y(found));
    else pen.moveTo(time.x(second), y(found));
    pen.lineTo(time.x(second + 1), y(found));
    isDown = true;
  }
  pen.stroke();
}

export function bars({ pen }, time, low, high) {
  for (let second = time.first; second <= time.latest; second += 1) {
    const [from, to] = [low(second), high(second)];
    if (from === undefined || to === undefined || from === to) continue;
    const gap = time.step > 5 ? 1 : 0;
    pen.fillRect(time.x(second), Math.min(from, to), time.step - gap, Math.abs(to - from));
  }
}

export function cursorLine({ pen, color, plot }, time, second) {
  if (second === undefined || second < time.first || second > time.latest) return;
  pen.fillStyle = color("ink");
  pen.globalAlpha = 0.16;
  pen.fillRect(time.x(second), plot.top, Math.max(2, time.step), plot.bottom - plot.top);
  pen.globalAlpha = 1;
}

export function clock(second) {
  return new Date(second * 1000).toLocaleTimeString("en-GB");
}

export function duration(seconds) {
  if (seconds === undefined) return "–";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${Number((seconds * 1e3).toPrecision(seconds < 0.1 ? 2 : 3))} ms`;
  return `${Number(seconds.toPrecision(3))} s`;
}

export function count(number) {
  if (number === undefined) return "–";
  return number >= 10 || Number.isInteger(number)
    ? Math.round(number).toLocaleString("en") : number.toFixed(1);
}

// A round number that is not below this one: 1, 2, 5, 10, 20, ...
export function roundAbove(number) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, number)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= number);
}
