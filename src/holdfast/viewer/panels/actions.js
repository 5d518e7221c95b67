// Actions on a board: one column for each state. Cards move by buttons, by a select, or by dragging.
import { useAct } from "../parts/act.js";
import { Dialog } from "../parts/dialog.js";
import { Empty, Failed } from "../parts/empty.js";
import { ProjectField, useProjects } from "../parts/projects.js";
import { Tags, Text } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { html, isAnew, useLive, useLoad, useSettled, useSoon, useState } from "../ui.js";

const STATES = ["pending", "active", "blocked", "done", "cancelled"];
const MOST = 500;
const SHOWN = 40; // cards of a column that are drawn at first

function Panel({ api, live, say, tell }) {
  const [typed, setTyped] = useState("");
  const project = useSettled(typed.trim(), 300);
  const list = useLoad(() => api.get("/actions", { limit: MOST, project }), [project]);
  const soon = useSoon(list.reload);
  useLive(live, (event) => (event.type === "action" || isAnew(event)) && soon());
  const [act] = useAct({ say, tell });
  const [open, setOpen] = useState(null); // an action, or {} for a new one
  const all = list.data ? list.data.actions : [];
  const projects = useProjects(api, list.data ? list.data.actions : undefined);
  const change = (one, changes) => act(() => api.patch(`/actions/${encodeURIComponent(one.id)}`, changes)).then(list.reload);
  return html`<header><h1>${say("actions")}</h1><p class="faint grow">${say("about")}</p>
      <button type="button" class="main" onClick=${() => setOpen({})}>${say("add")}</button></header>
    <div class="bar-of-controls"><label class="inline"><span>${say("project")}</span>
      <${ProjectField} projects=${projects} value=${typed} onInput=${(event) => setTyped(event.target.value)} placeholder=${say("allProjects")} /></label>
      ${list.data && list.data.total > MOST && html`<span class="faint">${say("newest", { count: MOST, total: list.data.total })}</span>`}</div>
    ${list.error && html`<${Failed} error=${list.error} say=${say} retry=${list.reload} />`}
    ${list.data && !all.length && html`<${Empty} title=${say("noneTitle")} text=${say("noneText")} command=${'holdfast action create "Write the release notes" --priority 8'} />`}
    ${all.length > 0 && html`<div class="board" role="group" aria-label=${say("actions")} tabindex="0">
      ${STATES.map((state) => html`<${Column} key=${state} ...${{ state, say, change, open: setOpen, all, cards: all.filter((one) => one.status === state) }} />`)}
    </div>`}
    ${open && html`<${Write} ...${{ one: open, api, say, act, close: () => setOpen(null), saved: list.reload }} />`}`;
}

function Column({ state, say, change, open, all, cards }) {
  const [over, setOver] = useState(false);
  const [shown, setShown] = useState(SHOWN);
  const sorted = [...cards].sort((a, b) => b.priority - a.priority || (a.createdAt < b.createdAt ? -1 : 1));
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    const moved = all.find((one) => one.id === event.dataTransfer.getData("text/plain"));
    if (moved && moved.status !== state) change(moved, { status: state });
  };
  const enter = (event) => {
    event.preventDefault();
    setOver(true);
  };
  return html`<section class=${`column ${over ? "over" : ""}`} aria-label=${say(state)} onDragOver=${enter} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <h2>${say(state)} <span class="badge">${cards.length}</span></h2>
    <ul class="plain">
      ${sorted.slice(0, shown).map((one) => html`<${Card} key=${one.id} ...${{ one, say, change, open }} />`)}
    </ul>
    ${sorted.length > shown && html`<button type="button" onClick=${() => setShown(shown + SHOWN)}>${say("more")}</button>`}
  </section>`;
}

function Card({ one, say, change, open }) {
  const lift = (event) => event.dataTransfer.setData("text/plain", one.id);
  return html`<li class="card action" draggable=${true} onDragStart=${lift}>
    <button type="button" class="title" onClick=${() => open(one)}><${Text} value=${one.title} /></button>
    ${one.description && html`<p class="faint two-lines"><${Text} value=${one.description} /></p>`}
    <${Tags} values=${one.tags} />
    <div class="bar-of-controls">
      <span class="badge" title=${say("priority")}>${say("priorityOf", { priority: one.priority })}</span>
      <span class="faint grow"><${Time} value=${one.updatedAt} say=${say} /></span>
      <select class="quiet" aria-label=${say("moveOne", { title: one.title })} value=${one.status} onChange=${(event) => change(one, { status: event.target.value })}>
        ${STATES.map((state) => html`<option key=${state} value=${state} selected=${state === one.status}>${say(state)}</option>`)}
      </select>
    </div>
  </li>`;
}

function Write({ one, api, say, act, close, saved }) {
  const isNew = !one.id;
  const save = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { title: form.get("title"), description: form.get("description"), priority: Number(form.get("priority")), tags: form.get("tags"), status: form.get("status") };
    const work = () =>
      isNew
        ? api.post("/actions", { ...body, project: form.get("project") || undefined })
        : api.patch(`/actions/${encodeURIComponent(one.id)}`, body);
    if (!(await act(work, say("saved")))) return;
    close();
    saved();
  };
  return html`<${Dialog} title=${isNew ? say("add") : say("change")} say=${say} onClose=${close} keeps>
    <form onSubmit=${save}>
      <label class="field"><span>${say("title")}</span><input name="title" required maxlength="512" defaultValue=${one.title || ""} autofocus /></label>
      <label class="field"><span>${say("description")}</span><textarea name="description" defaultValue=${one.description || ""}></textarea></label>
      <label class="field"><span>${say("priorityHint")}</span><input name="priority" type="number" min="0" max="100" defaultValue=${one.priority ?? 5} /></label>
      <label class="field"><span>${say("status")}</span><select name="status">
        ${STATES.map((state) => html`<option key=${state} value=${state} selected=${state === (one.status || "pending")}>${say(state)}</option>`)}</select></label>
      <label class="field"><span>${say("tags")}</span><input name="tags" defaultValue=${(one.tags || []).join(", ")} /></label>
      ${isNew && html`<label class="field"><span>${say("project")}</span><input name="project" /></label>`}
      <div class="buttons"><button type="button" onClick=${close}>${say("cancel")}</button><button type="submit" class="main">${say("save")}</button></div>
    </form>
  <//>`;
}

export default { name: "actions", Panel };
