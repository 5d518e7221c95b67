// Slots: small named texts that stand at the head of every context. An editor with a meter of its size.
import { useAct } from "../parts/act.js";
import { Dialog } from "../parts/dialog.js";
import { Failed } from "../parts/empty.js";
import { Meter } from "../parts/meter.js";
import { ProjectField, useProjects } from "../parts/projects.js";
import { Block, Text } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { html, isAnew, useEffect, useLive, useLoad, useSettled, useSoon, useState } from "../ui.js";

// The server counts characters, where JavaScript counts halves of some.
const lengthOf = (text) => [...text].length;
// What was typed and not saved, for as long as the page is open: looking at another slot or panel loses nothing.
const drafts = new Map();
const keyOf = (slot) => `${slot.scope}/${slot.project || ""}/${slot.label}`;

function Panel({ api, live, say, ask, tell, go, params }) {
  const [typed, setTyped] = useState(params.project || "");
  const project = useSettled(typed.trim(), 300);
  const list = useLoad(() => api.get("/slots", { project }).then((answer) => answer.slots), [project]);
  const soon = useSoon(list.reload);
  useLive(live, (event) => (event.type === "slot" || isAnew(event)) && soon());
  const [act, busy] = useAct({ say, tell });
  const [making, setMaking] = useState(false);
  const [, setEdits] = useState(0); // the list shows which slots have unsaved text
  const slots = list.data || [];
  const projects = useProjects(api, list.data || undefined);
  const open = slots.find((one) => one.label === params.label) || slots[0];
  return html`<header><h1>${say("slots")}</h1><p class="faint grow">${say("about")}</p>
      <button type="button" class="main" onClick=${() => setMaking(true)}>${say("add")}</button></header>
    <div class="bar-of-controls"><label class="inline"><span>${say("project")}</span>
      <${ProjectField} projects=${projects} value=${typed} onInput=${(event) => setTyped(event.target.value)} placeholder=${say("allProjects")} /></label></div>
    ${list.error && html`<${Failed} error=${list.error} say=${say} retry=${list.reload} />`}
    ${open && html`<div class="split slots-split">
      <div class="pane card"><ul class="plain picks" aria-label=${say("slots")}>
        ${slots.map((one) => html`<li key=${keyOf(one)}><button type="button" class="pick" aria-current=${one === open ? "true" : undefined}
            onClick=${() => go("slots", { ...params, label: one.label })}>
          <span class="line"><bdi class="grow code">${one.label}</bdi>${drafts.has(keyOf(one)) && html`<span class="badge warn">${say("unsaved")}</span>`}${one.pinned && html`<span class="badge accent">${say("pinned")}</span>`}
            ${one.readOnly && html`<span class="badge">${say("readOnly")}</span>`}</span>
          <${Meter} value=${lengthOf(one.content)} max=${one.sizeLimit} label=${say("sizeOf", { label: one.label })} />
        </button></li>`)}
      </ul></div>
      <${Editor} key=${keyOf(open)} ...${{ slot: open, project, api, say, ask, act, busy, reload: list.reload, told: () => setEdits((count) => count + 1) }} />
    </div>`}
    ${making && html`<${Make} ...${{ api, say, act, project, close: () => setMaking(false), made: (label) => list.reload().then(() => go("slots", { ...params, label })) }} />`}`;
}

function Editor({ slot, project, api, say, ask, act, busy, reload, told }) {
  const key = keyOf(slot);
  const draft = drafts.get(key);
  const [text, setText] = useState(draft ? draft.text : slot.content);
  const [base, setBase] = useState(draft ? draft.base : slot.content); // what the edit began with
  const changed = text !== base;
  const meanwhile = changed && slot.content !== base;
  const adopt = (content) => {
    drafts.delete(key);
    setText(content);
    setBase(content);
    told();
  };
  const type = (content) => {
    if (content === base) drafts.delete(key);
    else drafts.set(key, { text: content, base });
    setText(content);
    told();
  };
  // Somebody else wrote to it: shown at once where nothing is being edited, else said.
  useEffect(() => {
    // Asked of the drafts, which know at once: what was typed since the last drawing is not in `changed` yet.
    if (!drafts.has(key)) adopt(slot.content);
  }, [slot.content]);
  const size = lengthOf(text);
  const over = size > slot.sizeLimit;
  const save = async (event) => {
    event.preventDefault();
    const answer = await act(() => api.post("/slot/replace", { label: slot.label, content: text, project: project || undefined }), say("saved"));
    if (!answer) return;
    adopt(answer.slot.content);
    reload();
  };
  const remove = async () => {
    if (!(await ask({ title: say("removeTitle", { label: slot.label }), text: say("removeText"), action: say("remove") }))) return;
    if (await act(() => api.del("/slot", { label: slot.label, project: project || undefined }), say("removed"))) {
      drafts.delete(key);
      reload();
    }
  };
  return html`<form class="pane card reading" onSubmit=${save} aria-label=${slot.label}>
    <div class="bar-of-controls"><h2 class="grow"><${Text} value=${slot.label} kind="code" /></h2>
      <span class="badge">${slot.scope === "global" ? say("global") : slot.project ? say("ofOne", { project: slot.project }) : say("ofNone")}</span></div>
    ${slot.description && html`<p class="faint"><${Text} value=${slot.description} /></p>`}
    <label class="field grow-field"><span>${say("content")}</span>
      <textarea value=${text} readonly=${slot.readOnly} spellcheck=${false} dir="auto" aria-invalid=${over} aria-describedby="slot-size"
        onInput=${(event) => type(event.target.value)}></textarea></label>
    ${meanwhile && html`<div class="refusal" role="alert"><p>${say("meanwhile")}</p><${Block} value=${slot.content || "–"} />
      <div class="buttons"><button type="button" onClick=${() => adopt(slot.content)}>${say("takeTheirs")}</button></div></div>`}
    <div id="slot-size"><${Meter} value=${size} max=${slot.sizeLimit} label=${say("size")} text=${say("sizeText", { size, limit: slot.sizeLimit })} /></div>
    ${over && html`<p class="problem" role="alert">${say("tooLong", { count: size - slot.sizeLimit })}</p>`}
    <div class="bar-of-controls">
      <span class="faint grow">${slot.updatedAt ? html`${say("changed")} <${Time} value=${slot.updatedAt} say=${say} />` : say("neverWritten")}</span>
      ${!slot.readOnly && html`<button type="button" class="quiet" onClick=${remove}>${say("remove")}</button>
        <button type="button" disabled=${!changed} onClick=${() => adopt(slot.content)}>${say("discard")}</button>
        <button type="submit" class="main" disabled=${!changed || over || busy}>${say("save")}</button>`}
    </div>
  </form>`;
}

function Make({ api, say, act, project, close, made }) {
  const save = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = {
      label: form.get("label").trim(),
      description: form.get("description"),
      scope: project ? form.get("scope") : "global",
      project: project || undefined,
      sizeLimit: Number(form.get("limit")) || undefined,
      pinned: form.get("pinned") === "on",
    };
    const answer = await act(() => api.post("/slot", body), say("made"));
    if (!answer) return;
    close();
    made(body.label);
  };
  return html`<${Dialog} title=${say("add")} say=${say} onClose=${close} keeps>
    <form onSubmit=${save}>
      <label class="field"><span>${say("label")}</span><input name="label" required pattern="[a-z][a-z0-9_]*" maxlength="64" autofocus title=${say("labelHint")} /></label>
      <p class="faint">${say("labelHint")}</p>
      <label class="field"><span>${say("description")}</span><input name="description" /></label>
      <label class="field"><span>${say("limit")}</span><input name="limit" type="number" min="1" max="20000" value="2000" /></label>
      ${project && html`<label class="field"><span>${say("scope")}</span><select name="scope">
        <option value="project">${say("ofProject")}</option><option value="global">${say("global")}</option></select></label>`}
      <label class="check"><input name="pinned" type="checkbox" checked /> ${say("pinIt")}</label>
      <div class="buttons"><button type="button" onClick=${close}>${say("cancel")}</button><button type="submit" class="main">${say("add")}</button></div>
    </form>
  <//>`;
}

export default { name: "slots", Panel };
