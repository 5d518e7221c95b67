// Snapshots: what can be gone back to. Made, verified, compared, searched and restored from here.
import { useAct } from "../parts/act.js";
import { Dialog } from "../parts/dialog.js";
import { Difference } from "../parts/difference.js";
import { Empty, Failed } from "../parts/empty.js";
import { canBeAnswered, Refusal } from "../parts/refusal.js";
import { bytes } from "../parts/size.js";
import { Block, Tags, Text, typeName } from "../parts/text.js";
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
  const [doing, setDoing] = useState(""); // long work is said as long as it takes
  const work = async (text, ...given) => {
    setDoing(text);
    const answer = await act(...given);
    setDoing("");
    return answer;
  };
  const [verified, setVerified] = useState({}); // by id, for as long as the panel is open
  const [view, setView] = useState(null); // {kind, …}: the window that is open
  const snapshots = list.data ? list.data.snapshots : [];
  const open = snapshots.find((one) => one.id === params.id);
  const verify = async (one) => {
    const report = await work(say("verifying", { name: nameOf(one) }), () => api.post("/snapshots/verify", { id: one.id }));
    if (report) setVerified((all) => ({ ...all, [one.id]: report }));
  };
  const undo = async () => {
    if (await ask({ title: say("undo"), text: say("undoText"), typed: UNDO, action: say("undo") })) await undoSaying({});
  };
  const undoSaying = async (said) => {
    setView(null);
    const take = (error) => canBeAnswered(error) && (setView({ kind: "undo", refused: error }), true);
    if (await work(say("undoing"), () => api.post("/snapshots/undo", { yes: true, ...said }), say("undone"), take)) list.reload();
  };
  const remove = async (one) => {
    if (!(await ask({ title: say("removeTitle"), text: [nameOf(one), say("removeText")], typed: REMOVE, action: say("remove") }))) return;
    if (await act(() => api.del(`/snapshots/${encodeURIComponent(one.id)}`), say("removed"))) go("snapshots");
    list.reload();
  };
  const given = { api, say, go, act, work, busy, tell, ask, snapshots, setView, close: () => setView(null), reload: list.reload };
  return html`<header><h1>${say("snapshots")}</h1><p class="faint grow">${list.data && say("totals", { count: list.data.count, size: bytes(list.data.bytes, say) })}</p>
      <button type="button" onClick=${() => setView({ kind: "diff", a: open?.id })} disabled=${!snapshots.length}>${say("compare")}</button>
      <button type="button" onClick=${() => setView({ kind: "prune" })} disabled=${!snapshots.length}>${say("prune")}</button>
      <button type="button" onClick=${undo} disabled=${!list.data?.undo}>${say("undo")}</button>
      <button type="button" class="main" onClick=${() => setView({ kind: "create" })}>${say("create")}</button></header>
    <div role="status">${doing && html`<p class="doing">${doing}</p>`}</div>
    ${list.error && html`<${Failed} error=${list.error} say=${say} retry=${list.reload} />`}
    ${list.data && !snapshots.length && html`<${Empty} title=${say("noneTitle")} text=${say("noneText")} command="holdfast snapshot create" />`}
    ${snapshots.length > 0 && html`<${Listed} ...${{ snapshots, verified, verify, busy, say, go, open }} />`}
    ${open && html`<${About} key=${open.id} ...${{ one: open, report: verified[open.id], verify, remove, api, say, busy, go, setView }} />`}
    ${view?.kind === "create" && html`<${Create} ...${given} />`}
    ${view?.kind === "prune" && html`<${Prune} ...${given} />`}
    ${view?.kind === "diff" && html`<${Compare} ...${given} first=${view.a} />`}
    ${view?.kind === "search" && html`<${SearchIn} ...${given} one=${view.one} />`}
    ${view?.kind === "restore" && html`<${Restore} ...${given} one=${view.one} before=${view} />`}
    ${view?.kind === "undo" && html`<${Dialog} title=${say("undo")} say=${say} onClose=${given.close}>
      <${Refusal} error=${view.refused} one=${{}} say=${say} waive=${undoSaying} /><//>`}`;
}

const nameOf = (one) => one.label || one.id;
const COLUMNS = ["made", "label", "state", "seal", "by", "size", "verify"]; // a phone shows the first three

function Listed({ snapshots, verified, verify, busy, say, go, open }) {
  return html`<div class="card scroll" tabindex="0" role="region" aria-label=${say("snapshots")}><table class="snapshots-table">
    <thead><tr>${COLUMNS.map((name) => html`<th key=${name} scope="col" class=${`of-${name}`}>${name === "verify" ? html`<span class="unseen">${say(name)}</span>` : say(name)}</th>`)}</tr></thead>
    <tbody>${snapshots.map((one) => html`<tr key=${one.id} class=${open === one ? "chosen" : ""}>
      <td><${Time} value=${one.createdAt} say=${say} /></td>
      <th scope="row"><button type="button" class="link" aria-current=${open === one ? "true" : undefined} onClick=${() => go("snapshots", { id: one.id })}><${Text} value=${nameOf(one)} /></button></th>
      <td><${State} one=${one} report=${verified[one.id]} say=${say} /></td>
      <td class="of-seal"><${Seal} one=${one} say=${say} /></td>
      <td class="of-by">${say(`by_${one.createdBy || "unknown"}`)}</td>
      <td class="of-size end">${bytes(one.size, say)}</td>
      <td class="of-verify"><button type="button" disabled=${busy} aria-label=${say("verifyOne", { name: nameOf(one) })} onClick=${() => verify(one)}>${say("verify")}</button></td>
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
    : html`<span class="badge" title=${say("notVerifiedNote")}>${say("notVerified")}</span>`;
}

function About({ one, report, verify, remove, api, say, busy, go, setView }) {
  const more = useLoad(() => api.get(`/snapshots/${encodeURIComponent(one.id)}`).then((answer) => answer.snapshot), [one.id]);
  const full = more.data || one;
  const useless = one.damaged || (report && !report.sound); // it would be refused
  return html`<article class="card about-snapshot" aria-label=${nameOf(one)}>
    <div class="bar-of-controls"><h2 class="grow"><${Text} value=${nameOf(one)} /></h2>
      <button type="button" disabled=${busy} onClick=${() => verify(one)}>${say("verify")}</button>
      <button type="button" disabled=${useless} onClick=${() => setView({ kind: "search", one })}>${say("searchIn")}</button>
      <button type="button" disabled=${useless} onClick=${() => setView({ kind: "diff", a: one.id })}>${say("compare")}</button>
      <button type="button" class="danger" disabled=${useless || busy} onClick=${() => setView({ kind: "restore", one })}>${say("restore")}</button>
      <button type="button" class="quiet" onClick=${() => remove(one)}>${say("remove")}</button>
      <button type="button" class="quiet" aria-label=${say("close")} onClick=${() => go("snapshots")}>✕</button></div>
    <dl class="facts">
      <dt>${say("id")}</dt><dd><${Text} value=${one.id} kind="code" /></dd>
      <dt>${say("made")}</dt><dd><${Time} value=${one.createdAt} say=${say} exact=${true} /></dd>
      <dt>${say("seal")}</dt><dd><${Seal} one=${one} say=${say} /> <${Text} value=${one.signer} kind="code" /></dd>
      <dt>SHA-256</dt><dd><${Text} value=${one.sha256} kind="code" /></dd>
      ${one.damaged && html`<dt>${say("state")}</dt><dd class="bad-text"><${Text} value=${one.status} /></dd>`}
      ${full.artifacts && html`<dt>${say("holds")}</dt><dd>${say("files", { count: full.artifacts.length })}</dd>`}
      ${full.redaction && html`<dt>${say("redaction")}</dt><dd>${redacted(full.redaction, say)}</dd>`}
      ${full.left && full.left.length > 0 && html`<dt>${say("left")}</dt><dd><${Tags} values=${full.left.map((left) => `${left.path}: ${left.reason}`)} /></dd>`}
    </dl>
    ${report && html`<${Report} report=${report} say=${say} />`}
  </article>`;
}

function redacted({ applied, rules, hidden }, say) {
  const count = Object.keys(rules).length;
  return !applied ? say("no") : count || hidden ? say("redactedRules", { count: count || hidden }) : say("redactedNone");
}

function Report({ report, say }) {
  return html`<section class=${`report ${report.sound ? "good" : "bad"}`} role="status">
    <h3>${report.sound ? say("verifiedGood") : say("verifiedBad")}</h3>
    ${report.hint && html`<p><${Text} value=${report.hint} /></p>`}
    <p>${say("checked")}: ${report.checked.join(", ") || say("none")}</p>
    ${report.unchecked.length > 0 && html`<p>${say("unchecked")}: ${report.unchecked.join(", ")}</p>`}
    <ul>${report.findings.map((one, index) => html`<li key=${index}><span class=${`badge ${one.note ? "" : "bad"}`}>${one.code}</span> <${Text} value=${one.message} /></li>`)}</ul>
  </section>`;
}

function Create({ api, say, work, busy, tell, close, reload }) {
  const make = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { label: form.get("label").trim(), sign: form.get("sign") === "on" || undefined };
    const made = await work(say("making"), () => api.post("/snapshots", body), say("created"));
    if (!made) return;
    (made.warnings || []).forEach((one) => tell(one, "warn"));
    close();
    reload();
  };
  return html`<${Dialog} title=${say("create")} say=${say} onClose=${close}>
    <form onSubmit=${make}>
      <p>${say("createText")}</p>
      <label class="field"><span>${say("labelHint")}</span><input name="label" maxlength="200" autofocus autocomplete="off" /></label>
      <label class="check"><input type="checkbox" name="sign" aria-describedby="sign-note" /> ${say("signIt")}</label>
      <p id="sign-note" class="faint">${say("signNote")}</p>
      <div class="buttons"><button type="button" onClick=${close}>${say("cancel")}</button><button type="submit" class="main" disabled=${busy}>${busy ? say("working") : say("create")}</button></div>
    </form>
  <//>`;
}

const RULES = [["keep", 10], ["keepDaily", 7], ["keepWeekly", 4], ["keepMonthly", 6]];

function Prune({ api, say, act, work, busy, snapshots, ask, close, reload }) {
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
    await work(say("pruning"), () => api.post("/snapshots/prune", plan.rules), say("pruned", { count: plan.remove.length }));
    reload();
  };
  const named = (id) => snapshots.find((one) => one.id === id)?.label || id;
  return html`<${Dialog} title=${say("prune")} say=${say} onClose=${close} wide=${true}>
    <form onSubmit=${look} class="bar-of-controls" onInput=${() => setPlan(null)}>
      ${RULES.map(([name, usual]) => html`<label key=${name} class="inline"><span>${say(name)}</span><input name=${name} type="number" min="0" max="100000" defaultValue=${usual} /></label>`)}
      <button type="submit" class="main" disabled=${busy}>${say("showPlan")}</button>
    </form>
    ${plan && html`<div class="plan" role="status">
      <h3>${say("wouldGo", { count: plan.remove.length })}</h3>
      <ul>${plan.remove.map((id) => html`<li key=${id} class="bad-text"><${Text} value=${named(id)} /> <span class="faint code">${id}</span></li>`)}</ul>
      <h3>${say("wouldStay", { count: plan.keep.length })}</h3>
      <ul>${plan.keep.map((one) => html`<li key=${one.id}><${Text} value=${named(one.id)} /> <span class="faint">${one.why.join(", ")}</span></li>`)}</ul>
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

// Asks for something inside a snapshot. What a person has said so that it can be opened is said again the next time.
function useOpening(act) {
  const [state, setState] = useState({ answer: null, refused: null, said: {}, again: null });
  const ask = async (request, said = state.said) => {
    setState({ answer: null, refused: null, said, again: request });
    const take = (error) => canBeAnswered(error) && (setState({ answer: null, refused: error, said, again: request }), true);
    const answer = await act(() => request(said), undefined, take);
    if (answer) setState({ answer, refused: null, said, again: request });
  };
  const forget = () => setState((old) => ({ ...old, answer: null, refused: null }));
  return { ...state, ask, forget, waive: (more) => ask(state.again, { ...state.said, ...more }) };
}

function Compare({ api, say, act, busy, snapshots, close, first }) {
  const { answer: found, refused, ask, forget, waive } = useOpening(act);
  const compare = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { a: form.get("a"), b: form.get("b") || undefined, limit: 200 };
    ask((said) => api.post("/snapshots/diff", { ...body, ...said }));
  };
  const named = (id) => snapshots.find((one) => one.id === id)?.label || (snapshots.some((one) => one.id === id) ? id : say("liveMemory"));
  return html`<${Dialog} title=${say("compare")} say=${say} onClose=${close} wide=${true}>
    <form class="bar-of-controls" onSubmit=${compare} onInput=${forget}>
      <${Choice} ...${{ name: "a", label: say("earlier"), snapshots, chosen: first || snapshots[0].id, say }} />
      <${Choice} ...${{ name: "b", label: say("later"), snapshots, chosen: NOW, say, now: true }} />
      <button type="submit" class="main" disabled=${busy}>${busy ? say("working") : say("compare")}</button>
    </form>
    ${refused && html`<${Refusal} error=${refused} one=${{}} say=${say} waive=${waive} />`}
    ${found && html`<${Difference} found=${found} left=${named(found.a)} right=${named(found.b)} say=${say} />`}
  <//>`;
}

function SearchIn({ api, say, act, busy, close, one }) {
  const { answer, refused, ask, waive } = useOpening(act);
  const search = (event) => {
    event.preventDefault();
    const query = new FormData(event.currentTarget).get("query").trim();
    if (query) ask((said) => api.post("/snapshots/search", { id: one.id, query, limit: 30, ...said }));
  };
  return html`<${Dialog} title=${say("searchInOne", { name: nameOf(one) })} say=${say} onClose=${close} wide=${true}>
    <form class="bar-of-controls" role="search" onSubmit=${search}>
      <label class="inline grow"><span>${say("question")}</span><input name="query" type="search" required autofocus autocomplete="off" /></label>
      <button type="submit" class="main" disabled=${busy}>${busy ? say("working") : say("searchButton")}</button>
    </form>
    ${refused && html`<${Refusal} error=${refused} one=${one} say=${say} waive=${waive} />`}
    ${answer && html`<div role="status">
      ${answer.results.length === 0 && html`<p class="faint">${say("nothingFound")}</p>`}
      <ul class="plain found">${answer.results.map((hit) => html`<li key=${hit.id}>
        <b><${Text} value=${hit.title} /></b> <span class="badge">${typeName(hit.type, say)}</span>
        <${Block} value=${hit.content} /></li>`)}</ul>
    </div>`}
  <//>`;
}

// What would change is shown before anything can be confirmed, and the confirmation has to be typed.
function Restore({ api, say, work, ask, tell, setView, close, reload, one, before }) {
  const [said, setSaid] = useState(before.said || {});
  const [later, setLater] = useState(before.refused || null); // the restore itself was refused, after its preview
  const preview = useLoad(() => api.post("/snapshots/restore", { id: one.id, dryRun: true, limit: 200, ...said }), [one.id, said]);
  const restore = async () => {
    close();
    const text = [say("restoreText", { name: nameOf(one) }), say("restoreSafe")];
    if (!(await ask({ title: say("restore"), text, typed: RESTORE, action: say("restore") }))) return;
    const take = (error) => canBeAnswered(error) && (setView({ kind: "restore", one, said, refused: error }), true);
    const answer = await work(say("restoring", { name: nameOf(one) }), () => api.post("/snapshots/restore", { id: one.id, yes: true, ...said }), say("restored"), take);
    if (answer && answer.waiting) tell(answer.waiting, "warn");
    if (answer) reload();
  };
  const waive = (more) => {
    setLater(null);
    setSaid({ ...said, ...more });
  };
  const refused = later || (!preview.loading && preview.error);
  return html`<${Dialog} title=${say("restoreOne", { name: nameOf(one) })} say=${say} onClose=${close} wide=${true}>
    ${refused && html`<${Refusal} error=${refused} one=${one} say=${say} retry=${preview.reload} waive=${waive} />`}
    ${preview.loading && !later && html`<p class="faint" role="status">${say("looking")}</p>`}
    ${!refused && preview.data && html`<p>${say("dryRun")}</p>
      <${Difference} found=${preview.data.difference} left=${say("liveMemory")} right=${nameOf(one)} say=${say} />
      <div class="buttons"><button type="button" onClick=${close}>${say("cancel")}</button>
        <button type="button" class="danger" onClick=${restore}>${say("goOn")}</button></div>`}
  <//>`;
}

export default { name: "snapshots", Panel };
