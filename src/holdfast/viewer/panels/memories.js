// Memories: found as an agent would find them, with the reasons; or browsed, newest first.
import { html, isAnew, useCallback, useLive, useLoad, useSoon, useState } from "../ui.js";
import { Empty, Failed } from "../parts/empty.js";
import { Filter } from "../parts/filter.js";
import { VirtualList } from "../parts/list.js";
import { MemoryCard } from "../parts/memory.js";
import { OutdatedMark } from "../parts/outdated.js";
import { usePages } from "../parts/pages.js";
import { useProjects } from "../parts/projects.js";
import { Split } from "../parts/split.js";
import { Text, textOf, typeName } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { percent } from "../parts/why.js";

const PAGE = 200;
const HITS = 50;
const ROW = 58;
const TYPES = ["fact", "decision", "preference", "pattern", "bug", "architecture", "workflow", "summary"];
const CHANGES = new Set(["memory", "forgotten"]);

function Panel({ api, live, say, go, params, ask, tell }) {
  const query = params.q || "";
  const filters = { project: params.project, type: params.type, asOf: params.asOf, allChats: params.all ? true : undefined };
  const fetchPage = useCallback(
    (offset) => (query ? hits(api, query, filters) : browse(api, filters, offset)),
    [api, query, params.project, params.type, params.asOf, params.all],
  );
  const pages = usePages(fetchPage, [fetchPage]);
  const projects = useProjects(api, pages.rows);
  const soon = useSoon(pages.refresh, 500);
  useLive(live, (event) => {
    if (isAnew(event)) pages.reload();
    if (event.type === "forgotten") pages.drop(event.data.forgotten.ids);
    if (CHANGES.has(event.type)) soon();
  });

  const set = (changed) => go("memories", { ...params, ...changed }, { replace: true });
  const open = (row) => go("memories", { ...params, id: row.id, kind: undefined });
  const chosen = pages.rows.find((row) => row.id === params.id);
  return html`
    <header>
      <h1>${say("title")}</h1>
      <span class="faint" role="status">${say(!query ? "total" : pages.total === HITS ? "best" : "found", { count: pages.total })}</span>
      ${query && pages.note && html`<span class="badge warn" role="status">${say(pages.note)}</span>`}
      <span class="grow"></span>
      <${Filters} ...${{ params, set, say, projects }} />
    </header>
    <${Split} ...${{ pages, say, hint: say("pick") }}
      nothing=${html`<${Nothing} query=${query} filtered=${Object.values(filters).some(Boolean)} say=${say} clear=${() => go("memories", { q: query })} />`}
      opened=${params.id && html`<${Opened} key=${params.id} ...${{ api, live, say, go, ask, tell, params }} hit=${query ? chosen : null} restored=${pages.reload} />`}>
      <${VirtualList} rows=${pages.rows} total=${pages.total} height=${ROW} keyOf=${(row) => row.id} selected=${params.id} onOpen=${open} onClose=${() => go("memories", { ...params, id: undefined })} onEnd=${query ? null : pages.more}
        label=${say(query ? "hitsLabel" : "listLabel")} row=${(row) => html`<${Row} row=${row} say=${say} />`} />
    <//>`;
}

async function browse(api, filters, offset) {
  const answer = await api.get("/memories", { ...filters, limit: PAGE, offset });
  return { rows: answer.memories, total: answer.total };
}

async function hits(api, query, filters) {
  const answer = await api.post("/search", { query, limit: HITS, explain: true, ...filters });
  return { rows: answer.results, total: answer.results.length, note: answer.results.length && !answer.answerable ? "unsure" : undefined };
}

function Filters({ params, set, say, projects }) {
  return html`<div class="bar-of-controls">
    <${Filter} name=${say("project")} value=${params.project} projects=${projects} onSet=${(project) => set({ project })} />
    <select aria-label=${say("type")} value=${params.type || ""} onChange=${(event) => set({ type: event.target.value })}>
      <option value="">${say("allTypes")}</option>
      ${TYPES.map((type) => html`<option key=${type} value=${type} selected=${params.type === type}>${typeName(type, say)}</option>`)}
    </select>
    <${Filter} name=${say("asOf")} hint=${say("asOfHint")} value=${params.asOf} onSet=${(asOf) => set({ asOf })} />
    <label title=${say("everyChatNote")}><input type="checkbox" checked=${Boolean(params.all)} onChange=${(event) => set({ all: event.target.checked ? "1" : "" })} /> ${say("everyChat")}</label>
  </div>`;
}

function Row({ row, say }) {
  const memory = row.observation || row;
  return html`
    <div class="line">
      <b class="grow"><${Text} value=${row.title || memory.title} /></b>
      <${OutdatedMark} hit=${row} say=${say} />
      ${memory.memoryType === "permanent" && html`<span class="badge warn">${say("pinned")}</span>`}
      ${row.kind === "observation" && html`<span class="badge">${say("observation")}</span>`}
      ${row.kind !== "observation" && html`<span class="badge accent"><${Text} value=${typeName(memory.type, say)} /></span>`}
      ${row.also && row.also.length > 0 && html`<span class="badge" title=${say("also")}>+${row.also.length}</span>`}
      ${row.confidence !== undefined && html`<span class="faint" title=${say("confidenceNote")}>${percent(row.confidence)}</span>`}
    </div>
    <div class="line faint">
      <span class="grow">${beyondTitle(memory, row)}</span>
      <span><${Text} value=${memory.project} /></span>
      <${Time} value=${row.timestamp || memory.updatedAt || memory.createdAt} say=${say} />
    </div>`;
}

// The text where it goes on after the title, or what the memory is about.
function beyondTitle(memory, row) {
  const text = textOf(row.passage || row.content || memory.content || memory.narrative).replace(/\s+/g, " ").trim();
  const title = textOf(memory.title).replace(/…$/, "");
  const rest = text.startsWith(title) ? text.slice(title.length).replace(/^[\s.,;:。，；：]+/, "") : text;
  return rest || (memory.concepts || []).map(textOf).join(", ");
}

function Nothing({ query, filtered, say, clear }) {
  if (query) return html`<${Empty} title=${say("noHits")} text=${say("noHitsText")} />`;
  if (filtered) return html`<${Empty} title=${say("noneFit")}><button type="button" onClick=${clear}>${say("clear")}</button><//>`;
  return html`<${Empty} title=${say("emptyTitle")} text=${say("emptyText")} command=${'holdfast remember "The staging server is rebuilt every night at three."'} />`;
}

// What stands on the right: a memory with its versions, or the observation that was found.
function Opened({ api, live, say, go, ask, tell, params, hit, restored }) {
  const isObservation = hit ? hit.kind === "observation" : params.kind === "observation" || params.id.startsWith("obs_");
  const allChats = params.all ? true : undefined;
  const { data, error, reload } = useLoad(
    () => (!isObservation ? api.get(`/memories/${encodeURIComponent(params.id)}`, { allChats }) : hit ? Promise.resolve({ memory: hit.observation }) : observation(api, params.id)),
    [api, params.id, params.all, isObservation, isObservation ? hit : null],
  );
  const [gone, setGone] = useState(false);
  useLive(live, (event) => {
    if (event.type === "forgotten") setGone((was) => was || takesAway(event, params.id, data));
    else if (isAnew(event) || (event.type === "memory" && concerns(event, data))) reload();
  });
  const close = () => go("memories", { ...params, id: undefined });
  const back = html`<button type="button" class="back" onClick=${close}>← ${say("back")}</button>`;
  if ((error && !(data && error.status === 0)) || gone) return html`${back}${gone || error.status === 404 ? html`<div class="empty"><p>${say("gone")}</p></div>` : html`<${Failed} error=${error} say=${say} retry=${reload} />`}`;
  if (!data) return html`<p class="faint" role="status">${say("loading")}</p>`;
  const since = hit && { hit, api, say, go, tell, restored };
  if (isObservation) return html`${back}<${MemoryCard} ...${{ say, go, hit, since, memory: data.memory, isObservation }} />`;
  return html`${back}<${MemoryCard} ...${{ since, api, say, go, ask, tell, hit, allChats, close, memory: data.memory, versions: data.versions, addresses: data.addresses }}
    changed=${(id) => (id === params.id ? reload() : go("memories", { ...params, id }, { replace: true }))} />`;
}

async function observation(api, id) {
  const { results } = await api.post("/smart-search", { expandIds: [id] });
  return { memory: results.length ? results[0].observation : null };
}

function takesAway(event, id, data) {
  const ids = event.data.forgotten.ids;
  return ids.includes(id) || Boolean(data && data.memory && ids.includes(data.memory.id));
}

function concerns(event, data) {
  return !data || !data.memory || event.data.memory.rootId === data.memory.rootId;
}

export default { name: "memories", Panel };
