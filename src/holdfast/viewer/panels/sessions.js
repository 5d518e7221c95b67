// Sessions: which there were, what was observed in each, and which commits came of it.
import { html, isAnew, useCallback, useLive, useLoad, useSoon, useState } from "../ui.js";
import { useAct } from "../parts/act.js";
import { Dialog } from "../parts/dialog.js";
import { Empty, Failed } from "../parts/empty.js";
import { Facts } from "../parts/facts.js";
import { Filter } from "../parts/filter.js";
import { VirtualList } from "../parts/list.js";
import { usePages } from "../parts/pages.js";
import { useProjects } from "../parts/projects.js";
import { Split } from "../parts/split.js";
import { Block, Tags, Text, typeName } from "../parts/text.js";
import { clock, Time } from "../parts/time.js";
import { panelOf } from "../panels.js";

const PAGE = 100;
const OBSERVATIONS = 200;
const ROW = 58;
const SEEN_ROW = 52;
const STATES = ["active", "completed", "abandoned"];
const CHANGES = new Set(["session", "compressed_observation", "commit", "summary", "forgotten"]);

function Panel({ api, live, say, go, params, ask, tell }) {
  const fetchPage = useCallback(
    async (offset) => {
      const answer = await api.get("/sessions", { project: params.project, status: params.status, limit: PAGE, offset });
      return { rows: answer.sessions, total: answer.total };
    },
    [api, params.project, params.status],
  );
  const pages = usePages(fetchPage, [fetchPage]);
  const soon = useSoon(pages.refresh, 1_000);
  useLive(live, (event) => {
    if (isAnew(event)) pages.reload();
    if (event.type === "forgotten") pages.drop(event.data.forgotten.ids);
    if (CHANGES.has(event.type)) soon();
  });
  const projects = useProjects(api, pages.rows);
  const set = (changed) => go("sessions", { ...params, ...changed }, { replace: true });
  return html`
    <header>
      <h1>${say("title")}</h1>
      <span class="faint" role="status">${say("total", { count: pages.total })}</span>
      <span class="grow"></span>
      <div class="bar-of-controls">
        <${Filter} name=${say("project")} value=${params.project} projects=${projects} onSet=${(project) => set({ project })} />
        <select aria-label=${say("status")} value=${params.status || ""} onChange=${(event) => set({ status: event.target.value })}>
          <option value="">${say("anyStatus")}</option>
          ${STATES.map((one) => html`<option key=${one} value=${one} selected=${one === params.status}>${say(`status_${one}`)}</option>`)}
        </select>
      </div>
    </header>
    <${Split} ...${{ pages, say, hint: say("pick") }}
      nothing=${html`<${Nothing} filtered=${params.project || params.status} say=${say} clear=${() => go("sessions")} />`}
      opened=${params.id && html`<${Session} key=${params.id} id=${params.id} ...${{ api, live, say, go, ask, tell }} close=${() => go("sessions", { ...params, id: undefined })} />`}>
      <${VirtualList} rows=${pages.rows} total=${pages.total} height=${ROW} keyOf=${(row) => row.id} selected=${params.id} onEnd=${pages.more}
        onOpen=${(row) => go("sessions", { ...params, id: row.id })} onClose=${() => go("sessions", { ...params, id: undefined })} label=${say("listLabel")} row=${(row) => html`<${Row} session=${row} say=${say} />`} />
    <//>`;
}

function Row({ session, say }) {
  return html`
    <div class="line">
      <b class="grow"><${Text} value=${titleOf(session)} /></b>
      <${State} status=${session.status} say=${say} />
    </div>
    <div class="line faint">
      <span class="grow"><${Text} value=${session.project} /></span>
      <span>${say("observationsOf", { count: session.observationCount })}</span>
      <${Time} value=${session.startedAt} say=${say} />
    </div>`;
}

// What it was called, else what was asked first, else its id: two sessions must not look the same.
const titleOf = (session) => session.title || session.firstPrompt || session.id;

function State({ status, say }) {
  const known = STATES.includes(status);
  return html`<span class=${`badge ${status === "active" ? "good" : ""}`}>${known ? say(`status_${status}`) : html`<${Text} value=${status} />`}</span>`;
}

function Nothing({ filtered, say, clear }) {
  if (filtered) return html`<${Empty} title=${say("noneFit")}><button type="button" onClick=${clear}>${say("clear")}</button><//>`;
  return html`<${Empty} title=${say("emptyTitle")} text=${say("emptyText")} command="holdfast connect --help" />`;
}

function Session({ id, api, live, say, go, ask, tell, close }) {
  const about = useLoad(
    () => Promise.all([api.get("/sessions", { sessionId: id, limit: 1 }), api.get("/commits", { sessionId: id })]).then(([found, made]) => ({ session: found.sessions[0], commits: made.commits })),
    [api, id],
  );
  const fetchPage = useCallback(
    async (offset) => {
      const answer = await api.get("/observations", { sessionId: id, limit: OBSERVATIONS, offset });
      return { rows: answer.observations, total: answer.total };
    },
    [api, id],
  );
  const seen = usePages(fetchPage, [fetchPage], { newestLast: true });
  const [shown, setShown] = useState(null);
  const soon = useSoon(() => {
    about.reload();
    seen.refresh();
  }, 500);
  useLive(live, (event) => {
    if (isAnew(event)) seen.reload();
    if (event.type === "forgotten") seen.drop(event.data.forgotten.ids);
    if (isAnew(event) || event.type === "forgotten" || event.sessionId === id || (event.type === "session" && event.data.session.id === id)) soon();
  });
  const back = html`<button type="button" class="back" onClick=${close}>← ${say("back")}</button>`;
  if (about.error && !(about.data && about.error.status === 0)) return html`${back}<${Failed} error=${about.error} say=${say} retry=${about.reload} />`;
  if (!about.data) return html`<p class="faint" role="status">${say("loading")}</p>`;
  const { session, commits } = about.data;
  if (!session) return html`${back}<div class="empty"><p>${say("gone")}</p></div>`;
  return html`${back}
    <div>
      <h2 class="name"><${Text} value=${titleOf(session)} /></h2>
      <div class="bar-of-controls marks"><${State} status=${session.status} say=${say} /><span class="faint">${say("observationsOf", { count: session.observationCount })}</span></div>
    </div>
    <${Doings} ...${{ session, api, say, go, ask, tell, close, reload: about.reload }} />
    <${Facts} rows=${aboutSession(session, say)} say=${say} />
    ${session.summary && html`<section aria-label=${say("summary")}><h2>${say("summary")}</h2><${Block} value=${session.summary} /></section>`}
    ${commits.length > 0 && html`<${Commits} commits=${commits} say=${say} />`}
    <h2>${say("observations")} <span class="faint">${say("oldestFirst")}</span></h2>
    ${seen.total === 0 && !seen.loading
      ? html`<p class="faint">${say("noObservations")}</p>`
      : html`<${VirtualList} rows=${seen.rows} total=${seen.total} height=${SEEN_ROW} keyOf=${(row) => row.id} onEnd=${seen.more} onOpen=${setShown}
          label=${say("observations")} row=${(row) => html`<${Seen} row=${row} say=${say} />`} />`}
    ${shown && html`<${Observation} seen=${shown} say=${say} onClose=${() => setShown(null)} />`}`;
}

function Doings({ session, api, say, go, ask, tell, close, reload }) {
  const [act] = useAct({ say, tell });
  const summarize = async () => (await act(() => api.post("/summarize", { sessionId: session.id }), say("summarized"))) && reload();
  const forget = async () => {
    if (!(await ask({ title: say("forgetTitle"), text: say("forgetText"), action: say("forget") }))) return;
    const answer = await act(() => api.post("/forget", { sessionId: session.id }));
    if (!answer) return;
    tell(say("forgotten", { count: answer.deleted }));
    close();
  };
  return html`<div class="bar-of-controls">
    ${panelOf("replay") && session.observationCount > 0 && html`<button type="button" class="main" onClick=${() => go("replay", { id: session.id })}>${say("replay")}</button>`}
    <button type="button" disabled=${!session.observationCount} onClick=${summarize}>${say("summarize")}</button>
    <button type="button" class="danger" onClick=${forget}>${say("forget")}</button>
  </div>`;
}

function aboutSession(session, say) {
  return [
    ["started", html`<${Time} value=${session.startedAt} say=${say} exact />`],
    ["ended", session.endedAt && html`<${Time} value=${session.endedAt} say=${say} exact />`],
    ["project", session.project && html`<${Text} value=${session.project} />`],
    ["folder", session.cwd && html`<${Text} value=${session.cwd} kind="code" />`],
    ["agent", session.agentId && html`<${Text} value=${session.agentId} />`],
    ["id", html`<${Text} value=${session.id} kind="code" />`],
  ];
}

function Commits({ commits, say }) {
  return html`<section aria-label=${say("commits")}>
    <h2>${say("commits")}</h2>
    <ul class="plain">${commits.map((one) => html`<li key=${one.id}>
      <code>${one.shortSha}</code> <${Text} value=${one.message} /> <span class="faint"><${Text} value=${one.branch} /> <${Time} value=${one.linkedAt} say=${say} /></span>
    </li>`)}</ul>
  </section>`;
}

function Seen({ row, say }) {
  return html`
    <div class="line"><span class="grow"><${Text} value=${row.title} /></span><span class="badge"><${Text} value=${typeName(row.type, say)} /></span><span class="faint">${clock(row.timestamp, say)}</span></div>
    <div class="line faint"><span class="grow"><${Text} value=${row.subtitle || row.narrative} /></span></div>`;
}

function Observation({ seen, say, onClose }) {
  const blocks = [
    ["prompt", seen.userPrompt],
    ["input", seen.toolInput],
    ["output", seen.toolOutput],
  ];
  return html`<${Dialog} title=${seen.title} say=${say} onClose=${onClose} wide>
    <dl class="facts">
      <dt>${say("when")}</dt><dd><${Time} value=${seen.timestamp} say=${say} exact /></dd>
      <dt>${say("type")}</dt><dd><${Text} value=${typeName(seen.type, say)} /></dd>
      ${seen.toolName && html`<dt>${say("tool")}</dt><dd><${Text} value=${seen.toolName} /></dd>`}
      <dt>${say("importance")}</dt><dd>${seen.importance}</dd>
      ${seen.files.length > 0 && html`<dt>${say("files")}</dt><dd><${Tags} values=${seen.files} /></dd>`}
      ${seen.concepts.length > 0 && html`<dt>${say("concepts")}</dt><dd><${Tags} values=${seen.concepts} /></dd>`}
    </dl>
    <h3>${say("narrative")}</h3><${Block} value=${seen.narrative} />
    ${seen.facts.length > 0 && html`<h3>${say("facts")}</h3><ul>${seen.facts.map((fact) => html`<li><${Text} value=${fact} /></li>`)}</ul>`}
    ${blocks.filter(([, value]) => value !== undefined).map(([name, value]) => html`<h3 key=${name}>${say(name)}</h3><${Block} value=${value} code label=${say(name)} />`)}
  <//>`;
}

export default { name: "sessions", Panel };
