// The slowest requests, one below the other: what each waited for, and when.
import { begin, clock, duration, grid, roundAbove } from "/live/drawing.js";

// Phases that share a colour are told apart by their order.
const COLORS = {
  suppliers: "suppliers", columns: "columns", pool_wait: "pool", prepare: "prepare",
  send: "prepare", server_wait: "server", transfer: "transfer", decode: "decode",
  loop_delay: "loop",
};
const ROW = 42; // Pixels of a request, and of each of its lanes.
const LANE = 5;

// The spans of the requests, the newest request first.
export function requestsOf(lanes) {
  const requests = new Map();
  for (const { id, route, status, ended, total, process, ...span } of lanes) {
    const known = requests.get(id) ?? { id, route, status, ended, total, process, spans: [] };
    if (span.phase) known.spans.push(span);
    requests.set(id, known);
  }
  return [...requests.values()].sort((one, other) => other.ended - one.ended);
}

export function drawLanes(canvas, lanes) {
  const room = begin(canvas, { left: 12, right: 12, top: 24, bottom: 6 });
  const { pen, color, plot } = room;
  const fitting = Math.floor((plot.bottom - plot.top) / ROW);
  const requests = requestsOf(lanes).slice(0, fitting);
  if (!requests.length) {
    pen.fillStyle = color("faint");
    pen.textAlign = "center";
    pen.fillText("no request in the last seconds", room.width / 2, room.height / 2);
    return "no request in the last seconds";
  }
  const longest = Math.max(...requests.map(({ total }) => total));
  const whole = roundAbove(longest * 1e5) / 1e5;
  const x = (seconds) => plot.left + (seconds / whole) * (plot.right - plot.left);
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    pen.fillStyle = color("line");
    pen.fillRect(Math.round(x(part * whole)), plot.top, 1, plot.bottom - plot.top);
    pen.fillStyle = color("faint");
    pen.textAlign = part === 0 ? "left" : part === 1 ? "right" : "center";
    pen.fillText(part === 0 ? "0" : duration(part * whole), x(part * whole), 12);
  }
  requests.forEach((request, index) => drawRequest(room, request, x, plot.top + index * ROW));
  const [{ route, total, ended }] = requests;
  return `${requests.length} requests; the newest: ${route} took ${duration(total)}, `
    + `answered at ${clock(ended)}`;
}

function drawRequest({ pen, color, plot }, { route, status, ended, total, process, spans }, x, top) {
  pen.textAlign = "left";
  pen.fillStyle = color(status >= 500 || status === 0 ? "failed" : "ink");
  pen.fillText(`${route}  ${duration(total)}`, plot.left, top + 9);
  pen.fillStyle = color("faint");
  pen.textAlign = "right";
  const said = status === 200 ? "" : status ? `status ${status}  ` : "gone  ";
  pen.fillText(`${said}${process}  ${clock(ended)}`, plot.right, top + 9);
  const base = top + 17;
  pen.fillStyle = color("line");
  pen.fillRect(x(0), base, Math.max(2, x(total) - x(0)), 4 * LANE);
  for (const { lane, phase, start, seconds } of spans) {
    // What is named lies at the top, queries below it; a picture has room for three of them.
    if (lane > 3) continue;
    pen.fillStyle = color(COLORS[phase] ?? "draining");
    pen.fillRect(x(start), base + lane * LANE, Math.max(1, x(start + seconds) - x(start)), LANE - 1);
  }
}
