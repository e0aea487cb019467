// The page: reads the tables each second, and goes on when the service is restarted meanwhile.
import { clock, count, duration } from "/live/drawing.js";

const PERIOD = 1000; // Milliseconds between two looks.
const PATIENCE = 4000;
const find = (id) => document.getElementById(id);
const canvases = Object.fromEntries(
  ["times", "requests", "loops", "pools", "lanes"].map((id) => [id, find(id)]));
let cursor; // The second that is pointed at.
let modules;
let feed;
let mustReload = false;

class MissingError extends Error {}

async function load() {
  const signal = AbortSignal.timeout(PATIENCE);
  const answer = await fetch("/live/flechette.js", { signal });
  if (answer.status === 404) throw new MissingError((await answer.json()).detail);
  // A module that could not be loaded stays so until the page is loaded again.
  if (mustReload) location.reload();
  try {
    const [{ Feed }, strips, lanes] = await Promise.all([
      import("/live/feed.js"), import("/live/strips.js"), import("/live/lanes.js"),
    ]);
    modules = { ...strips, ...lanes };
    feed = globalThis.live = new Feed(); // For the console, too.
  } catch (error) {
    mustReload = true;
    throw error;
  }
}

function say(kind, text) {
  const state = find("state");
  // A live region is read again whenever it is written.
  if (state.textContent !== text) state.textContent = text;
  state.dataset.kind = kind;
  document.body.classList.toggle("lost", kind === "wait");
}

// How the service is, the most serious first.
function judged() {
  const recent = [0, 1, 2].map((back) => feed.latest - back);
  const sum = (name) => recent.reduce((all, second) => all + (feed.sum(second, name) ?? 0), 0);
  const hanging = feed.processes.find(hangs);
  if (hanging) return ["bad", `process ${hanging.process} does not answer its loop`];
  if (sum("failures")) return ["bad", "the database is away: connections are lost or not opened"];
  const refused = ["pool", "loop", "deadline", "draining"].filter((cause) => sum(`refused_${cause}`));
  if (refused.length) return ["bad", `overloaded: refuses by ${refused.join(", ")}`];
  if (feed.processes.some(({ state }) => state === "draining")) return ["good", "live; a process drains"];
  if (sum("failed")) return ["bad", "requests fail"];
  return ["good", sum("answered") ? "live" : "live; no requests"];
}

function hangs({ process, state, silent }) {
  if (state === "ended") return false;
  const row = feed.rows(feed.latest).find((one) => one.process === process);
  return silent > 4 || (row?.stalled ?? 0) > 1;
}

function showProcesses() {
  const items = feed.processes.slice(-8).map((process) => {
    const item = document.createElement("li");
    const state = hangs(process) ? "hangs" : process.state;
    item.dataset.state = state;
    item.dataset.answers = process.answers;
    item.textContent = `${process.process} ${process.answers ? `${state}, answers this page` : state}`;
    return item;
  });
  find("processes").replaceChildren(...items);
}

function showFigures() {
  const [from, to] = [feed.latest - 4, feed.latest];
  let [answered, refused, waiting] = [0, 0, 0];
  for (let second = from; second <= to; second += 1) {
    answered += feed.sum(second, "answered") ?? 0;
    refused += feed.refused(second);
    waiting = Math.max(waiting, feed.sum(second, "waiting") ?? 0);
  }
  find("rate").value = count(answered / 5);
  find("refused").value = count(refused / 5);
  find("p50").value = duration(feed.percentile(0.5, from, to));
  find("p99").value = duration(feed.percentile(0.99, from, to));
  find("loop").value = `${Math.round(100 * feed.most(to, "utilization"))} %`;
  find("loop-unit").textContent = `busy, lag p99 ${duration(feed.most(to, "lag_p99"))}`;
  find("pool").value = `${count(feed.sum(to, "busy"))} of ${count(feed.sum(to, "size_max"))}`;
  find("pool-unit").textContent = waiting ? `busy, ${waiting} wait` : "busy, nobody waits";
}

function showStalls() {
  const items = feed.stalls.slice(-6).reverse().map(({ at, cause, seconds, place, process }) => {
    const item = document.createElement("li");
    const parts = [clock(at), duration(seconds), cause, place || `process ${process}`];
    item.replaceChildren(...parts.map((part) => {
      const cell = document.createElement("span");
      cell.textContent = part;
      return cell;
    }));
    item.title = `process ${process}: ${place}`;
    return item;
  });
  if (!items.length) {
    items.push(document.createElement("li"));
    items[0].className = "none";
    items[0].textContent = "none in the last two minutes";
  }
  find("stalls").replaceChildren(...items);
}

function told(second) {
  if (!feed.rows(second).length) return `${clock(second)}: nothing is known`;
  const refused = feed.refused(second);
  const wait = modules.meanWait(feed, second);
  return `${clock(second)}: ${count(feed.sum(second, "answered"))} answered, p50 `
    + `${duration(feed.percentile(0.5, second))}, p99 ${duration(feed.percentile(0.99, second))}; `
    + `${refused} refused, ${feed.sum(second, "failed")} failed; loop `
    + `${Math.round(100 * feed.most(second, "utilization"))} %, lag p99 `
    + `${duration(feed.most(second, "lag_p99"))}; ${feed.sum(second, "busy")} connections busy, `
    + `${feed.sum(second, "waiting")} callers wait${wait ? `, ${duration(wait)} on average` : ""}`;
}

function draw() {
  if (!feed?.latest) return;
  const span = window.innerWidth <= 640 ? 60 : 120;
  modules.drawStrips(canvases, feed, span, cursor);
  canvases.lanes.ariaLabel = `The slowest requests: ${modules.drawLanes(canvases.lanes, feed.lanes)}`;
  find("moment").textContent = cursor ? told(cursor) : "";
  const label = told(feed.latest);
  for (const name of ["times", "requests", "loops", "pools"]) {
    canvases[name].ariaLabel = `${canvases[name].closest("figure").querySelector("b").textContent}; ${label}`;
  }
  document.documentElement.dataset.second = feed.latest;
}

function pointAt(second) {
  cursor = second === undefined ? undefined : Math.min(feed.latest, Math.max(feed.latest - 119, second));
  draw();
}

function listen() {
  const strips = find("strips");
  strips.addEventListener("pointermove", ({ clientX }) => {
    if (!feed?.latest) return;
    const { left, width } = canvases.times.getBoundingClientRect();
    const span = window.innerWidth <= 640 ? 60 : 120;
    // The margins of drawing.js.
    const share = (clientX - left - 46) / (width - 92);
    pointAt(share >= 0 && share < 1 ? feed.latest - span + 1 + Math.floor(share * span) : undefined);
  });
  strips.addEventListener("pointerleave", () => feed?.latest && pointAt(undefined));
  strips.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!feed?.latest || (!move && event.key !== "Escape")) return;
    event.preventDefault();
    pointAt(move ? (cursor ?? feed.latest + 1) + move : undefined);
  });
  new ResizeObserver(draw).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

async function run() {
  listen();
  for (let failures = 0; ; ) {
    try {
      if (!feed) await load();
      await feed.read(AbortSignal.timeout(PATIENCE));
      failures = 0;
      if (feed.latest) {
        say(...judged());
        showProcesses();
        showFigures();
        showStalls();
        draw();
      } else {
        say("wait", "waiting for the first second");
      }
    } catch (error) {
      failures += 1;
      if (error instanceof MissingError) say("bad", `flechette is missing: ${error.message}`);
      else say("wait", failures < 3 ? "reconnecting" : "reconnecting: the service does not answer");
      document.documentElement.dataset.failure = error.message;
    }
    await new Promise((resolve) => setTimeout(resolve, failures ? Math.min(2000, 250 * failures) : PERIOD));
  }
}

run();
