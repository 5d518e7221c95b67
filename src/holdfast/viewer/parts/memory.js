// One memory in full: its text, what is known about it, why it was found, its versions, and what can be done with it.
import { html, useState } from "../ui.js";
import { useAct } from "./act.js";
import { Dialog } from "./dialog.js";
import { Facts } from "./facts.js";
import { Outdated } from "./outdated.js";
import { Block, Tags, Text, typeName } from "./text.js";
import { Time } from "./time.js";
import { Why } from "./why.js";

const SCOPES = ["global", "conversation", "group", "personal"];

export function MemoryCard({ memory, versions = [], addresses, hit, since, isObservation, say, go, ...doing }) {
  if (!memory) return html`<div class="empty"><p>${say("gone")}</p></div>`;
  return html`
    <div>
      <h2 class="name"><${Text} value=${memory.title} /></h2>
      <div class="bar-of-controls marks">
        <span class="badge accent"><${Text} value=${isObservation ? say("observation") : typeName(memory.type, say)} /></span>
        ${memory.version > 1 && html`<span class="badge">${say("version", { number: memory.version })}</span>`}
        ${memory.isLatest === false && html`<span class="badge warn">${say("old")}</span>`}
        ${memory.memoryType === "permanent" && html`<span class="badge warn">${say("pinned")}</span>`}
      </div>
    </div>
    ${doing.api && html`<${Doings} memory=${memory} say=${say} ...${doing} />`}
    <${Block} value=${memory.content || memory.narrative} marked=${hit && hit.id === memory.id && (memory.content || memory.narrative) === hit.content ? hit : null} />
    ${hit && hit.also && hit.also.length > 0 && html`<section aria-label=${say("also")}><h2>${say("also")}</h2>
      <${Tags} values=${hit.also} onOpen=${(id) => go("memories", { id, kind: id.startsWith("mem_") ? undefined : "observation" })} /></section>`}
    ${since && html`<${Outdated} ...${since} />`}
    ${isObservation && memory.sessionId && html`<p><button type="button" onClick=${() => go("sessions", { id: memory.sessionId })}>${say("openSession")}</button></p>`}
    ${hit && hit.why && html`<${Why} why=${hit.why} say=${say} />`}
    <${Facts} rows=${aboutMemory(memory, addresses, say, go)} say=${say} />
    ${versions.length > 1 && html`<${Versions} versions=${versions} say=${say} />`}`;
}

function aboutMemory(memory, addresses, say, go) {
  return [
    ["kept", memory.createdAt && html`<${Time} value=${memory.createdAt} say=${say} exact />`],
    ["changed", memory.updatedAt !== memory.createdAt && memory.updatedAt && html`<${Time} value=${memory.updatedAt} say=${say} exact />`],
    ["ends", memory.forgetAfter && html`<${Time} value=${memory.forgetAfter} say=${say} exact />`],
    ["project", memory.project && html`<${Text} value=${memory.project} />`],
    ["agent", memory.agentId && html`<${Text} value=${memory.agentId} />`],
    ["scope", memory.scope && say(`scope_${memory.scope}`)],
    ["chat", memory.umo && html`<${Text} value=${memory.umo} kind="code" />`],
    ["owners", memory.owners && memory.owners.length > 0 && html`<${Tags} values=${memory.owners} />`],
    ["address", addresses && addresses.length > 0 && html`<${Tags} values=${addresses.map((one) => one.uri || one.id)} />`],
    ["importance", memory.importance],
    ["concepts", (memory.concepts || []).length > 0 && html`<${Tags} values=${memory.concepts} onOpen=${(concept) => go("memories", { q: concept })} />`],
    ["files", (memory.files || []).length > 0 && html`<${Tags} values=${memory.files} onOpen=${(file) => go("memories", { q: file })} />`],
    ["sessions", (memory.sessionIds || []).length > 0 && html`<${Tags} values=${memory.sessionIds} onOpen=${(id) => go("sessions", { id })} />`],
    ["sources", (memory.sourceObservationIds || []).length > 0 && html`<${Tags} values=${memory.sourceObservationIds} />`],
    ["id", html`<${Text} value=${memory.id} kind="code" />`],
  ];
}

function Versions({ versions, say }) {
  return html`<section aria-label=${say("versions")}>
    <h2>${say("versions")} <span class="faint">${say("versionsNote")}</span></h2>
    <ol class="versions">${versions.map((one) => html`<li key=${one.id}>
      <details>
        <summary><b>${say("version", { number: one.version })}</b> ${one.isLatest
          ? html`<span class="badge good">${say("current")}</span>`
          : html`<span class="faint">${say("until")} <${Time} value=${one.validTo} say=${say} exact /></span>`}
          ${" "}<span class="faint">${say("validFrom")} <${Time} value=${one.validFrom} say=${say} /></span></summary>
        <${Block} value=${one.content} />
      </details>
    </li>`)}</ol>
  </section>`;
}

// Buttons that change the memory. What fails is told; what succeeds is shown by the live events and by `changed`.
function Doings({ api, memory, say, ask, tell, allChats, changed, close }) {
  const [dialog, setDialog] = useState("");
  const pinned = memory.memoryType === "permanent";
  const [act] = useAct({ say, tell });
  const pin = async () => {
    const text = say(pinned ? "unpinnedNow" : "pinnedNow");
    if (await act(() => api.post("/memories/change", { id: memory.id, pinned: !pinned, allChats }), text)) changed(memory.id);
  };
  const forget = async () => {
    if (!(await ask({ title: say("forgetTitle"), text: say("forgetText"), action: say("forget") }))) return;
    const answer = await act(() => api.post("/forget", { memoryId: memory.id, allChats }));
    if (!answer) return;
    tell(say("forgotten", { count: answer.deleted }));
    close();
  };
  const edit = async (newTitle, newContent) => {
    const answer = await act(() => api.post("/evolve", { memoryId: memory.id, newTitle, newContent, allChats }), say("edited"));
    if (!answer) return;
    setDialog("");
    changed(answer.memory.id);
  };
  const rescope = async (scope) => {
    if (!(await act(() => api.post("/memories/change", { id: memory.id, scope, allChats }), say("scopeChanged")))) return;
    setDialog("");
    changed(memory.id);
  };
  return html`<div class="bar-of-controls doings">
    <button type="button" onClick=${() => setDialog("edit")}>${say("edit")}</button>
    <button type="button" aria-pressed=${pinned} onClick=${pin}>${say(pinned ? "unpin" : "pin")}</button>
    <button type="button" onClick=${() => setDialog("scope")}>${say("changeScope")}</button>
    <button type="button" class="danger" onClick=${forget}>${say("forget")}</button>
    ${dialog === "edit" && html`<${Editor} memory=${memory} say=${say} onSave=${edit} onClose=${() => setDialog("")} />`}
    ${dialog === "scope" && html`<${Scopes} memory=${memory} say=${say} onSave=${rescope} onClose=${() => setDialog("")} />`}
  </div>`;
}

function Editor({ memory, say, onSave, onClose }) {
  const [title, setTitle] = useState(memory.title);
  const [content, setContent] = useState(memory.content);
  const save = (event) => {
    event.preventDefault();
    onSave(title.trim(), content);
  };
  return html`<${Dialog} title=${say("editTitle")} say=${say} onClose=${onClose} wide keeps>
    <form onSubmit=${save}>
      <label class="field"><span>${say("titleField")}</span><input value=${title} onInput=${(event) => setTitle(event.target.value)} /></label>
      <label class="field"><span>${say("content")}</span><textarea rows="8" value=${content} onInput=${(event) => setContent(event.target.value)}></textarea></label>
      <p class="faint">${say("editNote")}</p>
      <div class="buttons">
        <button type="button" onClick=${onClose}>${say("cancel")}</button>
        <button type="submit" class="main" disabled=${!content.trim()}>${say("save")}</button>
      </div>
    </form>
  <//>`;
}

function Scopes({ memory, say, onSave, onClose }) {
  const [scope, setScope] = useState(memory.scope || "global");
  const save = (event) => {
    event.preventDefault();
    onSave(scope);
  };
  return html`<${Dialog} title=${say("changeScope")} say=${say} onClose=${onClose}>
    <form onSubmit=${save}>
      <p class="faint">${say(memory.umo ? "changeScopeText" : "noChat")}</p>
      ${SCOPES.map((one) => html`<label key=${one} class="choice"><input type="radio" name="scope" value=${one} checked=${one === scope}
        disabled=${one !== "global" && !memory.umo} onChange=${() => setScope(one)} /> ${say(`scope_${one}`)}</label>`)}
      <div class="buttons">
        <button type="button" onClick=${onClose}>${say("cancel")}</button>
        <button type="submit" class="main" disabled=${scope === memory.scope}>${say("save")}</button>
      </div>
    </form>
  <//>`;
}
