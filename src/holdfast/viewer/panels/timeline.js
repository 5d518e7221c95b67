// What happened, in the order it happened, around a moment.
import { Empty, Failed } from "../parts/empty.js";
import { VirtualList } from "../parts/list.js";
import { ProjectField, useProjects } from "../parts/projects.js";
import { Block, Tags, Text, typeName } from "../parts/text.js";
import { Time, clock } from "../parts/time.js";
import { html, isAnew, useCallback, useEffect, useLive, useRef, useRetry, useState } from "../ui.js";

const PAGE = 100;
const ROW = 58;

function Panel({ api, live, say, go, params }) {
  const asked = { anchor: params.at || "", project: params.project || "", sessionId: params.session || "" };
  const found = useAround(api, asked);
  const [open, setOpen] = useState(null);
  useLive(live, (event) => {
    if (isAnew(event)) found.reload();
    else if (event.type === "forgotten") {
      found.drop(event.data.forgotten.ids);
      setOpen((old) => (old && event.data.forgotten.ids.includes(old.id) ? null : old));
    } else if (event.type === "compressed_observation" && !asked.anchor) found.add(event.data.observation, asked);
  });
  useEffect(() => setOpen(null), [asked.anchor, asked.project, asked.sessionId]);
  const search = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    go("timeline", { at: form.get("at").trim(), project: form.get("project").trim(), session: params.session });
  };
  const rows = found.rows;
  const projects = useProjects(api, rows);
  return html`<header><h1>${say("timeline")}</h1></header>
    <form class="bar-of-controls" onSubmit=${search} key=${`${asked.anchor} ${asked.project}`}>
      <label class="inline"><span>${say("around")}</span>
        <input name="at" defaultValue=${asked.anchor} placeholder=${say("aroundHint")} autocomplete="off" /></label>
      <label class="inline"><span>${say("project")}</span><${ProjectField} projects=${projects} name="project" defaultValue=${asked.project} /></label>
      <button type="submit">${say("show")}</button>
      ${(asked.anchor || asked.project || asked.sessionId) && html`<button type="button" class="quiet" onClick=${() => go("timeline")}>${say("now")}</button>`}
      ${asked.sessionId && html`<span class="badge accent">${say("session")}: <${Text} value=${asked.sessionId} /></span>`}
    </form>
    ${found.error && !(found.error.status === 0 && rows.length) && html`<${Failed} error=${found.error} say=${say} retry=${found.reload} />`}
    ${!found.error && !found.loading && !rows.length && html`<${Empty} title=${say("noneTitle")} text=${say("noneText")} command="holdfast connect claude-code" />`}
    ${rows.length > 0 && html`<div class=${`split ${open ? "open" : "alone"}`}>
      <div class="pane card">
        <${VirtualList} rows=${rows} height=${ROW} keyOf=${(one) => one.id} label=${say("timeline")} selected=${open ? open.id : found.anchorId}
          onOpen=${setOpen} onClose=${() => setOpen(null)} onEnd=${found.earlier} row=${(one) => html`<${Row} one=${one} say=${say} anchor=${one.id === found.anchorId} />`} />
      </div>
      ${open && html`<${Seen} ...${{ one: open, say, go, close: () => setOpen(null) }} />`}
    </div>`}`;
}

function Row({ one, say, anchor }) {
  return html`<div class="line"><time datetime=${one.timestamp} class="faint">${clock(one.timestamp, say)}</time>
      <span class="badge ${anchor ? "accent" : ""}">${typeName(one.type, say)}</span><bdi class="grow">${one.title}</bdi></div>
    <div class="line faint"><span>${new Date(one.timestamp).toLocaleDateString(say.language)}</span><bdi class="grow">${one.subtitle || one.project}</bdi></div>`;
}

function Seen({ one, say, go, close }) {
  return html`<article class="pane card reading" aria-label=${one.title}>
    <div class="bar-of-controls"><h2 class="grow"><${Text} value=${one.title} /></h2>
      <button type="button" class="quiet" aria-label=${say("close")} onClick=${close}>✕</button></div>
    <dl class="facts">
      <dt>${say("when")}</dt><dd><${Time} value=${one.timestamp} say=${say} exact=${true} /></dd>
      <dt>${say("session")}</dt><dd><${Text} value=${one.sessionId} kind="code" /></dd>
      ${one.project && html`<dt>${say("project")}</dt><dd><${Text} value=${one.project} /></dd>`}
      ${one.agentId && html`<dt>${say("agent")}</dt><dd><${Text} value=${one.agentId} /></dd>`}
      ${one.toolName && html`<dt>${say("tool")}</dt><dd><${Text} value=${one.toolName} kind="code" /></dd>`}
    </dl>
    ${one.narrative && html`<${Block} value=${one.narrative} />`}
    <${Tags} values=${[...(one.concepts || []), ...(one.files || [])]} />
    <div class="buttons">
      <button type="button" onClick=${() => go("sessions", { id: one.sessionId })}>${say("openSession")}</button>
      <button type="button" class="main" onClick=${() => go("replay", { id: one.sessionId, frame: one.id })}>${say("replayHere")}</button>
    </div>
  </article>`;
}

// Newest first. The server answers around an anchor; what lies before the oldest shown is loaded as one scrolls.
function useAround(api, asked) {
  const [state, setState] = useState({ rows: [], anchorId: "", error: null, loading: true, ended: false });
  const turn = useRef(0);
  const ask = (anchor, before, after) =>
    api.post("/timeline", { anchor: anchor || undefined, before, after, project: asked.project || undefined, sessionId: asked.sessionId || undefined });
  const reload = useCallback(async () => {
    const mine = ++turn.current;
    setState((old) => ({ ...old, loading: true }));
    try {
      const answer = await ask(asked.anchor, PAGE, asked.anchor ? PAGE : 0);
      if (mine !== turn.current) return;
      const anchor = asked.anchor ? answer.observations[answer.anchorIndex] : null;
      const rows = answer.observations.reverse();
      setState({ rows, anchorId: anchor ? anchor.id : "", error: null, loading: false, ended: rows.length === 0 });
    } catch (error) {
      if (mine !== turn.current) return;
      const rows = error.status === 0 ? (old) => old.rows : () => []; // while nobody answers, what was loaded stays
      setState((old) => ({ rows: rows(old), anchorId: "", error, loading: false, ended: true }));
    }
  }, [asked.anchor, asked.project, asked.sessionId]);
  useEffect(() => {
    reload();
    return () => turn.current++;
  }, [reload]);
  const busy = useRef(false);
  const earlier = useCallback(async () => {
    const last = state.rows[state.rows.length - 1];
    if (!last || state.ended || busy.current) return;
    const mine = turn.current;
    busy.current = true;
    try {
      const answer = await ask(last.id, PAGE, 0);
      if (mine !== turn.current) return;
      setState((old) => {
        const known = new Set(old.rows.map((one) => one.id));
        const more = answer.observations.reverse().filter((one) => !known.has(one.id));
        return { ...old, rows: [...old.rows, ...more], ended: more.length === 0 };
      });
    } catch {
      setState((old) => ({ ...old, ended: true })); // what is shown stays; the next visit tries again
    } finally {
      busy.current = false;
    }
  }, [state.rows, state.ended]);
  const add = (one, { project, sessionId }) => {
    if (!one || (project && one.project !== project) || (sessionId && one.sessionId !== sessionId)) return;
    setState((old) => (old.rows.some((known) => known.id === one.id) ? old : { ...old, rows: [one, ...old.rows] }));
  };
  const drop = (ids) => setState((old) => ({ ...old, rows: old.rows.filter((one) => !ids.includes(one.id)) }));
  useRetry(state.error, reload);
  return { ...state, reload, earlier, add, drop };
}

export default { name: "timeline", Panel };
