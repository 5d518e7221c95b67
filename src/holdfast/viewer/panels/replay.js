// A session played again, frame by frame: what went into each tool and what came out.
import { Empty, Failed } from "../parts/empty.js";
import { Icon } from "../parts/frame.js";
import { Block, Tags, Text, textOf } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { html, isAnew, useCallback, useEffect, useLive, useLoad, useRef, useRetry, useSoon, useState } from "../ui.js";

const PAGE = 50;
const SPEEDS = [0.5, 1, 2, 4];
// A pause of hours is not waited for, and frames of one moment can still be seen one after the other.
const SHORTEST_MS = 250;
const LONGEST_MS = 3_000;

function Panel({ api, live, say, go, params }) {
  const sessions = useLoad(() => api.get("/replay/sessions", { limit: 200 }).then((answer) => answer.sessions), []);
  const chosen = params.id || (sessions.data && sessions.data[0] ? sessions.data[0].id : "");
  const soon = useSoon(sessions.reload, 1_000);
  useLive(live, (event) => (isAnew(event) || event.type === "session" || event.type === "forgotten") && soon());
  if (sessions.error && !sessions.data) return html`<header><h1>${say("replay")}</h1></header><${Failed} error=${sessions.error} say=${say} retry=${sessions.reload} />`;
  return html`<header><h1>${say("replay")}</h1>
      ${chosen && html`<label class="inline grow"><span>${say("session")}</span>
        <select value=${chosen} onChange=${(event) => go("replay", { id: event.target.value })}>
          ${choices(sessions.data || [], chosen).map((one) => html`<option key=${one.id} value=${one.id} selected=${one.id === chosen}>${nameOf(one)}</option>`)}
        </select></label>`}
    </header>
    ${sessions.data && !chosen && html`<${Empty} title=${say("noneTitle")} text=${say("noneText")} command="holdfast connect claude-code" />`}
    ${chosen && html`<${Player} key=${chosen} ...${{ api, live, say, go, session: chosen, start: params.frame }} />`}`;
}

// A session that is older than those listed can still be the chosen one.
const choices = (listed, chosen) => (listed.some((one) => one.id === chosen) ? listed : [{ id: chosen }, ...listed]);
const nameOf = (one) => [one.title || one.firstPrompt || one.id, one.project].filter(Boolean).join(" · ").slice(0, 120);

function Player({ api, live, say, go, session, start }) {
  const frames = useFrames(api, session, start);
  // A session that still goes on grows while it is replayed.
  const soon = useSoon(frames.grow, 1_000);
  useLive(live, (event) => {
    if (isAnew(event) || (event.type === "forgotten" && frames.holds(event.data.forgotten.ids))) frames.begin();
    else if (event.type === "compressed_observation" && event.sessionId === session) soon();
  });
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const { at, total, frame, next } = frames;
  // Before the first page came, nobody knows where the end is.
  const seek = useCallback((place) => total && frames.seek(Math.max(0, Math.min(total - 1, place))), [total, frames.seek]);
  useEffect(() => {
    if (!playing || !frame) return undefined;
    if (at >= total - 1) {
      setPlaying(false);
      return undefined;
    }
    if (!next) return undefined; // it is being loaded; this runs again when it is there
    const gap = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, next.offsetMs - frame.offsetMs));
    const timer = setTimeout(() => seek(at + 1), gap / speed);
    return () => clearTimeout(timer);
  }, [playing, speed, at, frame, next, total]);
  const toggle = () => {
    if (!playing && at >= total - 1) seek(0);
    setPlaying(!playing);
  };
  useReplayKeys({ toggle, seek, at, total, speed, setSpeed });
  if (frames.error && !(frame && frames.error.status === 0)) return html`<${Failed} error=${frames.error} say=${say} retry=${frames.reload} />`;
  if (total === 0) return html`<${Empty} title=${say("emptyTitle")} text=${say("emptyText")} />`;
  if (!frame) return html`<p class="faint" role="status">${say("loading")}</p>`;
  return html`<div class="card player">
      <input type="range" min="0" max=${total - 1} step="1" value=${at} aria-label=${say("position")} aria-valuetext=${say("frameOf", { at: at + 1, total })}
        onInput=${(event) => { setPlaying(false); seek(Number(event.target.value)); }} />
      <div class="bar-of-controls">
        <button type="button" aria-label=${say("first")} title=${say("first")} disabled=${at === 0} onClick=${() => seek(0)}><${Icon} path="M6 5v14M18 5l-9 7 9 7z" /></button>
        <button type="button" aria-label=${say("previous")} title="←" disabled=${at === 0} onClick=${() => seek(at - 1)}><${Icon} path="M16 5l-9 7 9 7z" /></button>
        <button type="button" class="main play" aria-label=${playing ? say("pause") : say("play")} aria-pressed=${playing} onClick=${toggle}><${Icon} path=${playing ? "M8 5v14M16 5v14" : "M7 5l11 7-11 7z"} /></button>
        <button type="button" aria-label=${say("next")} title="→" disabled=${at >= total - 1} onClick=${() => seek(at + 1)}><${Icon} path="M8 5l9 7-9 7z" /></button>
        <button type="button" aria-label=${say("last")} title=${say("last")} disabled=${at >= total - 1} onClick=${() => seek(total - 1)}><${Icon} path="M18 5v14M6 5l9 7-9 7z" /></button>
        <span class="speeds" role="group" aria-label=${say("speed")}>
          ${SPEEDS.map((one) => html`<button key=${one} type="button" aria-pressed=${one === speed} onClick=${() => setSpeed(one)}>${one}×</button>`)}
        </span>
        <span class="grow"></span>
        <span class="position" role="status">${say("frameOf", { at: at + 1, total })}</span>
        <span class="faint">${distance(frame.offsetMs)} / ${distance(frames.duration)}</span>
      </div>
      <p class="faint keys-hint"><kbd>space</kbd> ${say("keyPlay")} <kbd>←</kbd> <kbd>→</kbd> ${say("keyStep")} <kbd>Home</kbd> <kbd>End</kbd></p>
    </div>
    <${Frame} frame=${frame} say=${say} />
    <div class="buttons"><button type="button" onClick=${() => go("sessions", { id: session })}>${say("openSession")}</button></div>`;
}

function Frame({ frame, say }) {
  return html`<article class="card frame-of-replay" aria-label=${frame.label}>
    <div class="bar-of-controls"><span class=${`badge ${frame.kind === "error" ? "bad" : "accent"}`}>${say(`kind_${frame.kind}`)}</span>
      <h2 class="grow"><${Text} value=${frame.label} /></h2>
      <span class="faint"><${Time} value=${frame.ts} say=${say} exact=${true} /></span></div>
    ${frame.toolName && html`<p><span class="faint">${say("tool")}</span> <${Text} value=${frame.toolName} kind="code" /></p>`}
    ${frame.body && html`<${Block} value=${frame.body} />`}
    <div class="two">
      ${frame.toolInput !== null && html`<section><h3>${say("input")}</h3><${Block} value=${frame.toolInput} code=${true} label=${say("input")} /><${Cut} ...${{ frame, name: "toolInput", say }} /></section>`}
      ${frame.toolOutput !== null && html`<section><h3>${say("output")}</h3><${Block} value=${frame.toolOutput} code=${true} label=${say("output")} /><${Cut} ...${{ frame, name: "toolOutput", say }} /></section>`}
    </div>
    <${Tags} values=${frame.files} />
  </article>`;
}

function Cut({ frame, name, say }) {
  if (!frame.cut[name]) return null;
  return html`<p class="faint">${say("cut", { shown: textOf(frame[name]).length, all: frame.cut[name] })}</p>`;
}

// Frames by their place, in pages that are loaded when they are needed; the page after the present one comes ahead.
function useFrames(api, session, start) {
  const pages = useRef(new Map());
  const [at, setAt] = useState(0);
  const [state, setState] = useState({ total: undefined, duration: 0, error: null, loaded: 0 });
  const load = useCallback(async (page, again = false) => {
    if (page < 0 || (pages.current.has(page) && !again)) return;
    if (!pages.current.get(page)) pages.current.set(page, null);
    try {
      const answer = await api.get("/replay/frames", { sessionId: session, limit: PAGE, offset: page * PAGE });
      pages.current.set(page, answer.frames);
      setState((old) => ({ total: answer.total, duration: answer.totalDurationMs, error: null, loaded: old.loaded + 1 }));
    } catch (error) {
      if (!pages.current.get(page)) pages.current.delete(page);
      setState((old) => ({ ...old, error }));
    }
  }, [session]);
  useEffect(() => {
    load(0);
  }, [load]);
  const page = Math.floor(at / PAGE);
  useEffect(() => {
    if (state.total === undefined) return;
    load(page);
    if ((page + 1) * PAGE < state.total) load(page + 1);
  }, [page, state.total]);
  useSought(start, state, pages, load, setAt);
  const frameAt = (place) => (pages.current.get(Math.floor(place / PAGE)) || [])[place % PAGE];
  const reload = useCallback(() => load(page), [load, page]);
  const grow = () => load(Math.floor(Math.max(0, (state.total || 0) - 1) / PAGE), true); // the last page has room for more
  const holds = (ids) => ids.includes(session) || [...pages.current.values()].some((frames) => (frames || []).some((one) => ids.includes(one.id)));
  const begin = () => {
    pages.current.clear();
    setAt(0);
    load(0);
  };
  useRetry(state.error, reload);
  return { grow, begin, holds, at, total: state.total, duration: state.duration, error: state.error, frame: frameAt(at), next: frameAt(at + 1), seek: setAt, reload };
}

// A link may name a frame by its id: pages are looked through until it is found.
function useSought(start, state, pages, load, setAt) {
  const found = useRef(!start);
  useEffect(() => {
    if (found.current || state.total === undefined) return;
    for (const [page, frames] of pages.current) {
      const place = (frames || []).findIndex((one) => one.id === start);
      if (place >= 0) {
        found.current = true;
        setAt(page * PAGE + place);
        return;
      }
    }
    const next = pages.current.size;
    if (next * PAGE < state.total && ![...pages.current.values()].includes(null)) load(next);
  }, [state.loaded, state.total]);
}

// Space plays and stops, arrows step. Not while a control has the focus that needs the key itself.
function useReplayKeys(player) {
  const latest = useRef(player);
  latest.current = player;
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const on = event.target instanceof Element ? event.target : null;
      if (on && on.closest("input, textarea, select, nav, .code")) return;
      const { toggle, seek, at, total, speed, setSpeed } = latest.current;
      const step = SPEEDS.indexOf(speed);
      const keys = {
        " ": () => (on && on.closest("button") ? null : toggle),
        ArrowRight: () => () => seek(at + 1),
        ArrowLeft: () => () => seek(at - 1),
        Home: () => () => seek(0),
        End: () => () => seek(total - 1),
        ArrowUp: () => () => setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, step + 1)]),
        ArrowDown: () => () => setSpeed(SPEEDS[Math.max(0, step - 1)]),
      };
      const work = keys[event.key] && keys[event.key]();
      if (!work) return;
      event.preventDefault();
      work();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function distance(ms) {
  const seconds = Math.floor(ms / 1000);
  const two = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  return `${hours ? `${hours}:` : ""}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

export default { name: "replay", Panel };
