// Snapshots: what can be gone back to. Made, verified, compared, searched and restored from here.
import { useAct } from "../parts/act.js";
import { Dialog } from "../parts/dialog.js";
import { Difference } from "../parts/difference.js";
import { Empty, Failed } from "../parts/empty.js";
import { bytes } from "../parts/size.js";
import { Block, Tags, Text } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { html, useLive, useLoad, useSoon, useState } from "../ui.js";

const NOW = "";
const RESTORE = "RESTORE";
const UNDO = "UNDO";
const REMOVE = "REMOVE";

function Panel({ api, live, say, go, ask, tell, params }) {
  const list = useLoad(() => api.get("/snapshots", { limit: 500 }), []);
  const soon = useSoon(list.reload);
  useLive(live, (event) => (String(event.type).startsWith("snapshot_") || event.type === "gap") && soon());
  const [act, busy] = useAct({ say, tell });
  const [verified, setVerified] = useState({}); // by id, for as long as the panel is open
  const [view, setView] = useState(null); // {kind, …}: the window that is open
  const snapshots = list.data ? list.data.snapshots : [];
  const open = snapshots.find((one) => one.id === params.id);
  const verify = async (one) => {
    const report = await act(() => api.post("/snapshots/verify", { id: one.id }));
    if (report) setVerified((all) => ({ ...all, [one.id]: report }));
  };
  const undo = async () => {
    if (!(await ask({ title: say("undo"), text: say("undoText"), typed: UNDO, action: say("undo") }))) return;
    await act(() => api.post("/snapshots/undo", { yes: true }), say("undone"));
    list.reload();
  };
  const remove = async (one) => {
    if (!(await ask({ title: say("removeTitle"), text: [one.label || one.id, say("removeText")], typed: REMOVE, action: say("remove") }))) return;
    if (await act(() => api.del(`/snapshots/${encodeURIComponent(one.id)}`), say("removed"))) go("snapshots");
    list.reload();
  };
  const given = { api, say, go, act, busy, tell, ask, snapshots, close: () => setView(null), reload: list.reload };
  return html`<header><h1>${say("snapshots")}</h1><p class="faint grow">${list.data && say("totals", { count: list.data.count, size: bytes(list.data.bytes, say) })}</p>
      <button type="button" onClick=${() => setView({ kind: "diff", a: open?.id })} disabled=${!snapshots.length}>${say("compare")}</button>
      <button type="button" onClick=${() => setView({ kind: "prune" })} disabled=${!snapshots.length}>${say("prune")}</button>
      <button type="button" onClick=${undo}>${say("undo")}</button>
      <button type="button" class="main" onClick=${() => setView({ kind: "create" })}>${say("create")}</button></header>
    ${list.error && html`<${Failed} error=${list.error} say=${say} retry=${list.reload} />`}
    ${list.data && !snapshots.length && html`<${Empty} title=${say("noneTitle")} text=${say("noneText")} command="holdfast snapshot create" />`}
    ${snapshots.length > 0 && html`<${Listed} ...${{ snapshots, verified, verify, busy, say, go, open }} />`}
    ${open && html`<${About} key=${open.id} ...${{ one: open, report: verified[open.id], verify, remove, api, say, busy, go, setView }} />`}
    ${view?.kind === "create" && html`<${Create} ...${given} />`}
    ${view?.kind === "prune" && html`<${Prune} ...${given} />`}
    ${view?.kind === "diff" && html`<${Compare} ...${given} first=${view.a} />`}
    ${view?.kind === "search" && html`<${SearchIn} ...${given} one=${view.one} />`}
    ${view?.kind === "restore" && html`<${Restore} ...${given} one=${view.one} />`}`;
}

function Listed({ snapshots, verified, verify, busy, say, go, open }) {
  return html`<div class="card scroll" tabindex="0" role="region" aria-label=${say("snapshots")}><table class="snapshots-table">
    <thead><tr>${["made", "label", "by", "size", "seal", "state", ""].map((name) => html`<th key=${name} scope="col">${name ? say(name) : html`<span class="unseen">${say("verify")}</span>`}</th>`)}</tr></thead>
    <tbody>${snapshots.map((one) => html`<tr key=${one.id} class=${open === one ? "chosen" : ""}>
      <td><${Time} value=${one.createdAt} say=${say} /></td>
      <th scope="row"><button type="button" class="link" aria-current=${open === one ? "true" : undefined} onClick=${() => go("snapshots", { id: one.id })}><${Text} value=${one.label || one.id} /></button></th>
      <td>${say(`by_${one.createdBy || "unknown"}`)}</td>
      <td class="end">${bytes(one.size, say)}</td>
      <td><${Seal} one=${one} say=${say} /></td>
      <td><${State} one=${one} report=${verified[one.id]} say=${say} /></td>
      <td><button type="button" disabled=${busy} aria-label=${say("verifyOne", { name: one.label || one.id })} onClick=${() => verify(one)}>${say("verify")}</button></td>
    </tr>`)}</tbody>
  </table></div>`;
}

function Seal({ one, say }) {
  return html`<span class=${`badge ${one.signer ? "good" : ""}`}>${one.signer ? say("signed") : say("unsigned")}</span> <span class=${`badge ${one.encrypted ? "good" : ""}`}>${one.encrypted ? say("encrypted") : say("plain")}</span>`;
}

// A glance tells whether the files are there and agree; only verifying reads every byte, and the server remembers that it did.
function State({ one, report, say }) {
  if (report) return html`<span class=${`badge ${report.sound ? "good" : "bad"}`}>${report.sound ? say("verifiedGood") : say("verifiedBad")}</span>`;
  if (one.damaged) return html`<span class="badge bad" title=${one.status}>${say("damaged")}</span>`;
  return one.checkedAt
    ? html`<span class="badge good">${say("verifiedGood")}</span>`
    : html`<span class="badge accent">${say("whole")}</span>`;
}

function About({ one, report, verify, remove, api, say, busy, go, setView }) {
  const more = useLoad(() => api.get(`/snapshots/${encodeURIComponent(one.id)}`).then((answer) => answer.snapshot), [one.id]);
  const full = more.data || one;
  return html`<article class="card about-snapshot" aria-label=${one.label || one.id}>
    <div class="bar-of-controls"><h2 class="grow"><${Text} value=${one.label || one.id} /></h2>
      <button type="button" disabled=${busy} onClick=${() => verify(one)}>${say("verify")}</button>
      <button type="button" onClick=${() => setView({ kind: "search", one })}>${say("searchIn")}</button>
      <button type="button" onClick=${() => setView({ kind: "diff", a: one.id })}>${say("compare")}</button>
      <button type="button" class="danger" onClick=${() => setView({ kind: "restore", one })}>${say("restore")}</button>
      <button type="button" class="quiet" onClick=${() => remove(one)}>${say("remove")}</button>
      <button type="button" class="quiet" aria-label=${say("close")} onClick=${() => go("snapshots")}>✕</button></div>
    <dl class="facts">
      <dt>${say("id")}</dt><dd><${Text} value=${one.id} kind="code" /></dd>
      <dt>${say("made")}</dt><dd><${Time} value=${one.createdAt} say=${say} exact=${true} /></dd>
      <dt>${say("seal")}</dt><dd><${Seal} one=${one} say=${say} /> <${Text} value=${one.signer} kind="code" /></dd>
      <dt>SHA-256</dt><dd><${Text} value=${one.sha256} kind="code" /></dd>
      ${one.damaged && html`<dt>${say("state")}</dt><dd class="bad-text"><${Text} value=${one.status} /></dd>`}
      ${full.artifacts && html`<dt>${say("holds")}</dt><dd>${say("files", { count: full.artifacts.length })}</dd>`}
      ${full.redaction && html`<dt>${say("redaction")}</dt><dd>${full.redaction.applied ? say("redactedRules", { count: Object.keys(full.redaction.rules).length }) : say("no")}</dd>`}
      ${full.left && full.left.length > 0 && html`<dt>${say("left")}</dt><dd><${Tags} values=${full.left.map((left) => `${left.path}: ${left.reason}`)} /></dd>`}
    </dl>
    ${report && html`<${Report} report=${report} say=${say} />`}
  </article>`;
}

function Report({ report, say }) {
  return html`<section class=${`report ${report.sound ? "good" : "bad"}`} role="status">
    <h3>${report.sound ? say("verifiedGood") : say("verifiedBad")}</h3>
    <p>${say("checked")}: ${report.checked.join(", ") || say("none")}</p>
    ${report.unchecked.length > 0 && html`<p>${say("unchecked")}: ${report.unchecked.join(", ")}</p>`}
    <ul>${report.findings.map((one, index) => html`<li key=${index}><span class=${`badge ${one.note ? "" : "bad"}`}>${one.code}</span> <${Text} value=${one.message} /></li>`)}</ul>
  </section>`;
}

function Create({ api, say, act, busy, close, reload }) {
  const make = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { label: form.get("label").trim(), sign: form.get("sign") === "on" || undefined };
    if (!(await act(() => api.post("/snapshots", body), say("created")))) return;
    close();
    reload();
  };
  return html`<${Dialog} title=${say("create")} say=${say} onClose=${close}>
    <form onSubmit=${make}>
      <p>${say("createText")}</p>
      <label class="field"><span>${say("labelHint")}</span><input name="label" maxlength="200" autofocus autocomplete="off" /></label>
      <label class="check"><input type="checkbox" name="sign" /> ${say("signIt")}</label>
      <div class="buttons"><button type="button" onClick=${close}>${say("cancel")}</button><button type="submit" class="main" disabled=${busy}>${busy ? say("working") : say("create")}</button></div>
    </form>
  <//>`;
}

const RULES = [["keep", 10], ["keepDaily", 7], ["keepWeekly", 4], ["keepMonthly", 6]];

function Prune({ api, say, act, busy, snapshots, ask, close, reload }) {
  const [plan, setPlan] = useState(null);
  const look = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const rules = Object.fromEntries(RULES.map(([name]) => [name, Number(form.get(name)) || 0]));
    const answer = await act(() => api.post("/snapshots/prune", { ...rules, dryRun: true }));
    if (answer) setPlan({ ...answer, rules });
  };
  const carryOut = async () => {
    close();
    if (!(await ask({ title: say("prune"), text: say("pruneText", { count: plan.remove.length }), typed: REMOVE, action: say("remove") }))) return;
    await act(() => api.post("/snapshots/prune", plan.rules), say("pruned", { count: plan.remove.length }));
    reload();
  };
  const nameOf = (id) => snapshots.find((one) => one.id === id)?.label || id;
  return html`<${Dialog} title=${say("prune")} say=${say} onClose=${close} wide=${true}>
    <form onSubmit=${look} class="bar-of-controls" onInput=${() => setPlan(null)}>
      ${RULES.map(([name, usual]) => html`<label key=${name} class="inline"><span>${say(name)}</span><input name=${name} type="number" min="0" max="100000" defaultValue=${usual} /></label>`)}
      <button type="submit" class="main" disabled=${busy}>${say("showPlan")}</button>
    </form>
    ${plan && html`<div class="plan" role="status">
      <h3>${say("wouldGo", { count: plan.remove.length })}</h3>
      <ul>${plan.remove.map((id) => html`<li key=${id} class="bad-text"><${Text} value=${nameOf(id)} /> <span class="faint code">${id}</span></li>`)}</ul>
      <h3>${say("wouldStay", { count: plan.keep.length })}</h3>
      <ul>${plan.keep.map((one) => html`<li key=${one.id}><${Text} value=${nameOf(one.id)} /> <span class="faint">${one.why.join(", ")}</span></li>`)}</ul>
      <div class="buttons"><button type="button" onClick=${close}>${say("cancel")}</button>
        <button type="button" class="danger" disabled=${!plan.remove.length || busy} onClick=${carryOut}>${say("carryOut")}</button></div>
    </div>`}
  <//>`;
}

function Choice({ name, label, snapshots, chosen, say, now }) {
  return html`<label class="inline"><span>${label}</span><select name=${name}>
    ${now && html`<option value=${NOW} selected=${chosen === NOW}>${say("liveMemory")}</option>`}
    ${snapshots.map((one) => html`<option key=${one.id} value=${one.id} selected=${one.id === chosen}>${`${one.label || "–"} · ${one.id}`}</option>`)}
  </select></label>`;
}

function Compare({ api, say, act, busy, snapshots, close, first }) {
  const [found, setFound] = useState(null);
  const compare = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const answer = await act(() => api.post("/snapshots/diff", { a: form.get("a"), b: form.get("b") || undefined, limit: 200 }));
    if (answer) setFound(answer);
  };
  const nameOf = (id) => snapshots.find((one) => one.id === id)?.label || (snapshots.some((one) => one.id === id) ? id : say("liveMemory"));
  return html`<${Dialog} title=${say("compare")} say=${say} onClose=${close} wide=${true}>
    <form class="bar-of-controls" onSubmit=${compare} onInput=${() => setFound(null)}>
      <${Choice} ...${{ name: "a", label: say("earlier"), snapshots, chosen: first || snapshots[0].id, say }} />
      <${Choice} ...${{ name: "b", label: say("later"), snapshots, chosen: NOW, say, now: true }} />
      <button type="submit" class="main" disabled=${busy}>${say("compare")}</button>
    </form>
    ${found && html`<${Difference} found=${found} left=${nameOf(found.a)} right=${nameOf(found.b)} say=${say} />`}
  <//>`;
}

function SearchIn({ api, say, act, busy, close, one }) {
  const [results, setResults] = useState(null);
  const search = async (event) => {
    event.preventDefault();
    const query = new FormData(event.currentTarget).get("query").trim();
    if (!query) return;
    const answer = await act(() => api.post("/snapshots/search", { id: one.id, query, limit: 30 }));
    if (answer) setResults(answer.results);
  };
  return html`<${Dialog} title=${say("searchInOne", { name: one.label || one.id })} say=${say} onClose=${close} wide=${true}>
    <form class="bar-of-controls" role="search" onSubmit=${search}>
      <label class="inline grow"><span>${say("question")}</span><input name="query" type="search" required autofocus autocomplete="off" /></label>
      <button type="submit" class="main" disabled=${busy}>${say("searchButton")}</button>
    </form>
    ${results && html`<div role="status">
      ${results.length === 0 && html`<p class="faint">${say("nothingFound")}</p>`}
      <ul class="plain found">${results.map((hit) => html`<li key=${hit.id}>
        <b><${Text} value=${hit.title} /></b> <span class="badge">${hit.type}</span>
        <${Block} value=${hit.content} /></li>`)}</ul>
    </div>`}
  <//>`;
}

// What would change is shown before anything can be confirmed, and the confirmation has to be typed.
function Restore({ api, say, act, ask, close, reload, one }) {
  const preview = useLoad(() => api.post("/snapshots/restore", { id: one.id, dryRun: true, limit: 200 }), [one.id]);
  const restore = async () => {
    close();
    const text = [say("restoreText", { name: one.label || one.id }), say("restoreSafe")];
    if (!(await ask({ title: say("restore"), text, typed: RESTORE, action: say("restore") }))) return;
    await act(() => api.post("/snapshots/restore", { id: one.id, yes: true }), say("restored"));
    reload();
  };
  return html`<${Dialog} title=${say("restoreOne", { name: one.label || one.id })} say=${say} onClose=${close} wide=${true}>
    <p>${say("dryRun")}</p>
    ${preview.error && html`<${Failed} error=${preview.error} say=${say} retry=${preview.reload} />`}
    ${preview.loading && html`<p class="faint" role="status">${say("working")}</p>`}
    ${preview.data && html`<${Difference} found=${preview.data.difference} left=${say("liveMemory")} right=${one.label || one.id} say=${say} />
      <div class="buttons"><button type="button" onClick=${close}>${say("cancel")}</button>
        <button type="button" class="danger" onClick=${restore}>${say("goOn")}</button></div>`}
  <//>`;
}

export default { name: "snapshots", Panel };
