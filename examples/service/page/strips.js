// Four pictures over one axis of time: answers, requests, loops, connections.
import {
  bars, begin, count, cursorLine, duration, grid, roundAbove, steps, timeAxis, timeScale,
} from "/live/drawing.js";
import { CAUSES, startOf } from "/live/feed.js";

const TIMES = [0.0001, 0.001, 0.01, 0.1, 1];
const WAITS = [0.0001, 1]; // Lag of the loop and waits for a connection, at the right.
const [FASTEST, SLOWEST] = [0.00006, 4]; // Seconds, at the bottom and the top of the picture.

export function drawStrips(canvases, feed, span, cursor) {
  drawTimes(canvases.times, feed, span, cursor);
  drawRequests(canvases.requests, feed, span, cursor);
  drawLoops(canvases.loops, feed, span, cursor);
  drawPools(canvases.pools, feed, span, cursor);
}

function drawTimes(canvas, feed, span, cursor) {
  const room = begin(canvas);
  const { pen, color, plot } = room;
  const time = timeScale(plot, feed.latest, span);
  const y = logScale(plot, FASTEST, SLOWEST);
  grid(room, TIMES.map((seconds) => ({ y: y(seconds), text: duration(seconds) })));
  timeAxis(room, time);
  let most = 1;
  for (let second = time.first; second <= time.latest; second += 1) {
    for (const [, answers] of feed.buckets(second)) most = Math.max(most, answers);
  }
  pen.fillStyle = color("heat");
  for (let second = time.first; second <= time.latest; second += 1) {
    for (const [bucket, answers] of feed.buckets(second)) {
      const [top, bottom] = [y(startOf(bucket + 1)), y(startOf(bucket))];
      pen.globalAlpha = 0.2 + 0.75 * (Math.log1p(answers) / Math.log1p(most));
      pen.fillRect(time.x(second), top, time.step - (time.step > 5 ? 1 : 0), bottom - top - 0.5);
    }
  }
  pen.globalAlpha = 1;
  const deadline = feed.processes[0]?.deadline;
  if (deadline) {
    pen.strokeStyle = color("deadline");
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.moveTo(plot.left, y(deadline));
    pen.lineTo(plot.right, y(deadline));
    pen.stroke();
    pen.setLineDash([]);
  }
  pen.strokeStyle = color("ink");
  for (const [share, width] of [[0.5, 1], [0.99, 1.75]]) {
    pen.lineWidth = width;
    steps(room, time, y, (second) => feed.percentile(share, second));
  }
  cursorLine(room, time, cursor);
}

function drawRequests(canvas, feed, span, cursor) {
  const room = begin(canvas);
  const { pen, color, plot } = room;
  const time = timeScale(plot, feed.latest, span);
  const seconds = secondsOf(time);
  const up = roundAbove(Math.max(...seconds.map((second) => feed.sum(second, "answered") ?? 0)));
  const mostRefused = Math.max(...seconds.map((second) => feed.refused(second)));
  // Nothing was refused: then the axis stands at the bottom.
  const down = mostRefused ? roundAbove(mostRefused) : 0;
  const room_ = plot.bottom - plot.top;
  const axis = plot.bottom - (down ? Math.max(0.2, Math.min(0.5, down / (up + down))) * room_ : 0);
  const upwards = (value) => axis - (value / up) * (axis - plot.top);
  const downwards = (value) => axis + (value / down) * (plot.bottom - axis);
  const lines = [{ y: upwards(up), text: count(up) }, { y: axis, text: "0" }];
  if (down) lines.push({ y: downwards(down), text: count(down) });
  grid(room, lines);
  timeAxis(room, time);
  pen.fillStyle = color("answered");
  bars(room, time, () => axis, (second) => up_(feed.sum(second, "answered")));
  pen.fillStyle = color("failed");
  bars(room, time, () => axis, (second) => up_(feed.sum(second, "failed")));
  if (down) {
    const before = new Map(seconds.map((second) => [second, 0]));
    for (const cause of CAUSES) {
      pen.fillStyle = color(cause);
      const refused = (second) => feed.sum(second, `refused_${cause}`) ?? 0;
      bars(room, time, (second) => downwards(before.get(second)),
        (second) => downwards(before.get(second) + refused(second)));
      for (const second of seconds) before.set(second, before.get(second) + refused(second));
    }
  }
  pen.fillStyle = color("faint");
  pen.fillRect(plot.left, Math.round(axis), plot.right - plot.left, 1);
  cursorLine(room, time, cursor);

  function up_(value) {
    return value === undefined ? undefined : upwards(value);
  }
}

function drawLoops(canvas, feed, span, cursor) {
  const room = begin(canvas);
  const { pen, color, plot } = room;
  const time = timeScale(plot, feed.latest, span);
  const y = (share) => plot.bottom - share * (plot.bottom - plot.top);
  const lag = logScale(plot, ...WAITS);
  const shares = [1, 0.5, 0].map((share) => ({ y: y(share), text: `${100 * share} %` }));
  grid(room, shares, waitMarks(lag));
  timeAxis(room, time);
  // One layer for each process, so that what all of them share is the darkest.
  const processes = new Set(secondsOf(time).flatMap((second) =>
    feed.rows(second).map(({ process }) => process)));
  pen.fillStyle = pen.strokeStyle = color("loop");
  for (const process of processes) {
    const busy = (second) => feed.rows(second)
      .find((row) => row.process === process)?.utilization;
    pen.globalAlpha = 0.28;
    bars(room, time, () => y(0), (second) => busy(second) === undefined ? undefined : y(busy(second)));
    pen.globalAlpha = 1;
    pen.lineWidth = 1.25;
    steps(room, time, y, busy);
  }
  pen.strokeStyle = color("ink");
  pen.lineWidth = 1.25;
  steps(room, time, lag, (second) =>
    feed.rows(second).length ? feed.most(second, "lag_p99") : undefined);
  pen.fillStyle = color("failed");
  for (const { at, seconds } of feed.stalls) {
    if (at < time.first || at > time.latest + 1) continue;
    pen.beginPath();
    pen.arc(time.x(at), plot.top + 6, Math.min(6, 2 + seconds * 12), 0, 2 * Math.PI);
    pen.fill();
  }
  cursorLine(room, time, cursor);
}

function drawPools(canvas, feed, span, cursor) {
  const room = begin(canvas);
  const { pen, color, plot } = room;
  const time = timeScale(plot, feed.latest, span);
  const seconds = secondsOf(time);
  const most = Math.max(1, ...seconds.map((second) => feed.sum(second, "size_max") ?? 0));
  const high = Math.max(most, ...seconds.map((second) =>
    (feed.sum(second, "busy") ?? 0) + (feed.sum(second, "waiting") ?? 0)));
  const y = (value) => plot.bottom - (value / high) * (plot.bottom - plot.top);
  const at = (value) => value === undefined ? undefined : y(value);
  const wait = logScale(plot, ...WAITS);
  grid(room, [{ y: y(most), text: `all ${most}` }, { y: y(0), text: "0" }], waitMarks(wait));
  timeAxis(room, time);
  pen.fillStyle = color("busy");
  bars(room, time, () => y(0), (second) => at(feed.sum(second, "busy")));
  pen.fillStyle = color("pool");
  bars(room, time, (second) => at(feed.sum(second, "busy")), (second) =>
    at((feed.sum(second, "busy") ?? 0) + (feed.sum(second, "waiting") ?? 0)));
  pen.strokeStyle = color("ink");
  pen.lineWidth = 1.25;
  steps(room, time, wait, (second) => meanWait(feed, second));
  pen.fillStyle = color("failed");
  for (const second of seconds) {
    if (feed.sum(second, "failures")) pen.fillRect(time.x(second), plot.top, Math.max(3, time.step - 1), 7);
  }
  cursorLine(room, time, cursor);
}

export function meanWait(feed, second) {
  const waited = feed.sum(second, "waited");
  return waited ? feed.sum(second, "wait_seconds") / waited : undefined;
}

function waitMarks(scale) {
  return [0.001, 0.03, 1].map((seconds) => ({ y: scale(seconds), text: duration(seconds) }));
}

function secondsOf(time) {
  return Array.from({ length: time.latest - time.first + 1 }, (_, index) => time.first + index);
}

function logScale(plot, low, high) {
  const all = Math.log(high / low);
  return (value) => {
    const share = Math.log(Math.min(high, Math.max(low, value)) / low) / all;
    return plot.bottom - share * (plot.bottom - plot.top);
  };
}
