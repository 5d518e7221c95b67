// The first view: how much is known, what happens now, whether it is safe, and what to do about it.
import { html, isAnew, useEffect, useLive, useLoad, useMemo, useSoon, useState } from "../ui.js";
import { Empty, Failed } from "../parts/empty.js";
import { activityOf } from "../parts/events.js";
import { Meter } from "../parts/meter.js";
import { Plot } from "../parts/plot.js";
import { bytes, number } from "../parts/size.js";
import { Text } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { panelOf } from "../panels.js";
import { hashOf } from "../router.js";

const SHOWN = 20;
const REFRESH_MS = 2_000; // counts follow a busy memory at this pace; activity follows at once
const FIGURES = [
  ["memories", "memories"],
  ["observations", "sessions"],
  ["sessions", "sessions"],
  ["lessons", "lessons"],
  ["actions", "actions"],
];
const HOUR = 3_600;

function Panel({ api, live, say, go }) {
  const { data, error, reload } = useLoad(() => api.get("/overview"), [api]);
  const [activity, setActivity] = useState([]);
  const soon = useSoon(reload, REFRESH_MS);
  useEffect(() => {
    if (data) setActivity((seen) => merged(seen, data.recent.map(recentRow)));
  }, [data]);
  useLive(live, (event) => {
    const row = event.type === "gap" ? null : activityOf(event);
    // What was forgotten must not stay in view; the reload brings back what is still there.
    const stale = isAnew(event) || event.type === "forgotten";
    setActivity((seen) => merged(row ? [row] : [], stale ? [] : seen));
    soon();
  });
  if (error && !data) return html`<${Failed} error=${error} say=${say} retry=${reload} />`;
  if (!data) return html`<h1>${say("title")}</h1><p class="faint" role="status">${say("loading")}</p>`;
  const unread = !Object.keys(data.counts).length; // a warning has the reason
  const empty = !unread && !Object.values(data.counts).some(Boolean);
  return html`
    <header>
      <h1>${say("title")}</h1>
      <${State} data=${data} say=${say} />
      <span class="grow"></span>
      <span class="faint">Holdfast ${data.version}</span>
    </header>
    <${Warnings} warnings=${data.warnings.filter((one) => one.level !== "note")} say=${say} />
    ${empty && html`<div class="card"><${Empty} title=${say("emptyTitle")} text=${say("emptyText")}
      command=${'holdfast remember "The staging server is rebuilt every night at three."'}>
      <p>${say("emptyConnect")}</p><//></div>`}
    ${!unread && html`<div class="figures">${FIGURES.map(([name, panel]) => html`<${Figure} key=${name} name=${name} panel=${panel} count=${data.counts[name]} say=${say} />`)}</div>`}
    <div class="dash">
      <div class="stack">
        ${!empty && !unread && html`<${Growth} growth=${data.growth} say=${say} />`}
        <div class="cards">
          <${Snapshots} snapshots=${data.snapshots} say=${say} />
          <${Index} data=${data} say=${say} />
          ${data.disk && html`<${Disk} disk=${data.disk} say=${say} />`}
        </div>
        <${Warnings} warnings=${data.warnings.filter((one) => one.level === "note")} say=${say} />
      </div>
      <${Activity} rows=${activity.slice(0, SHOWN)} say=${say} go=${go} />
    </div>`;
}

// The worst that is known: a page that says "all is well" above a problem is believed.
function State({ data, say }) {
  const levels = new Set(data.warnings.map((one) => one.level));
  if (levels.has("error")) return html`<span class="badge bad">${say("wrong")}</span>`;
  const well = data.status === "healthy" && !levels.has("warning");
  return html`<span class=${`badge ${well ? "good" : "warn"}`}>${say(well ? "healthy" : "degraded")}</span>`;
}

function recentRow(one) {
  const panel = one.kind === "memory" ? "memories" : "sessions";
  return { ...one, at: one.timestamp, panel, params: { id: one.kind === "memory" ? one.id : one.sessionId } };
}

// The newer rows first, one for each record.
function merged(newer, older) {
  const seen = new Set();
  return [...newer, ...older].filter((row) => !seen.has(row.kind + row.id) && seen.add(row.kind + row.id)).slice(0, SHOWN * 2);
}

function Figure({ name, panel, count, say }) {
  const inside = html`<b data-count=${name}>${number(count, say)}</b><span>${say(name)}</span>`;
  return panelOf(panel) ? html`<a class="card figure" href=${hashOf(panel)}>${inside}</a>` : html`<div class="card figure">${inside}</div>`;
}

const ABOUT_SNAPSHOTS = new Set(["snapshot_damaged", "no_snapshot", "snapshot_old", "unsigned", "no_vault", "vault_plain", "drill_failed", "drill_locked", "drill_old"]);
const KINDS = { error: "bad", warning: "warn", note: "" };

function Warnings({ warnings, say }) {
  if (!warnings.length) return null;
  return html`<ul class="warnings" aria-label=${say("warnings")}>
    ${warnings.map((one) => html`<li key=${one.code} class=${`card ${KINDS[one.level]}`}>
      <span class=${`badge ${KINDS[one.level]}`}>${say(`level_${one.level}`)}</span>
      <span class="grow"><b>${told("w", one, one.message, say)}</b> <span class="faint">${told("h", one, one.hint, say)}</span></span>
      ${ABOUT_SNAPSHOTS.has(one.code) && html`<a href=${hashOf("snapshots")}>${say("snapshots")}</a>`}
    </li>`)}
  </ul>`;
}

// What the server says in English, in the words of the page where it knows them.
function told(prefix, one, otherwise, say) {
  const key = `${prefix}_${one.code}`;
  const values = one.values || {};
  const text = say(key, { ...values, count: values.count ?? values.days, size: bytes(values.free, say) });
  return text === key ? otherwise : text;
}

function Growth({ growth, say }) {
  const labels = useMemo(() => growth.days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1000), [growth]);
  const series = useMemo(
    () => ["memories", "observations", "sessions"].map((name, at) => ({ label: say(name), values: summed(growth[name], growth.before[name] || 0), area: at === 0 })),
    [growth, say],
  );
  return html`<section class="card" aria-label=${say("growth")}>
    <header><h2>${say("growth")}</h2><span class="faint">${say("growthOf", { count: labels.length })}</span></header>
    <${Plot} series=${series} labels=${labels} height=${230} label=${say("growth")} say=${say} />
  </section>`;
}

function summed(counts, before) {
  let total = before;
  return counts.map((count) => (total += count));
}

function Snapshots({ snapshots, say }) {
  const newest = snapshots.newest;
  return html`<section class="card" aria-label=${say("snapshotHealth")}>
    <header><h2>${say("snapshotHealth")}</h2></header>
    <dl class="facts">
      <dt>${say("lastGood")}</dt>
      <dd>${newest
        ? html`<${Time} value=${newest.createdAt} say=${say} /> <${Mark} good=${newest.signed} words=${["signed", "unsigned"]} say=${say} />
          <${Mark} good=${newest.encrypted} words=${["encrypted", "plain"]} say=${say} />`
        : html`<span class="badge warn">${say("noSnapshot")}</span>`}</dd>
      <dt>${say("proven")}</dt><dd><${Proven} drill=${snapshots.drill} say=${say} /></dd>
      ${snapshots.guard && html`<dt>${say("guard")}</dt><dd><${Guard} guard=${snapshots.guard} say=${say} /></dd>`}
      <dt>${say("kept")}</dt><dd>${say("keptText", { count: snapshots.count, size: bytes(snapshots.bytes, say) })}</dd>
      <dt>${say("schedule")}</dt><dd>${schedule(snapshots.everySeconds, say)}</dd>
      ${snapshots.path && html`<dt>${say("where")}</dt><dd><${Text} value=${snapshots.path} kind="code" /></dd>`}
      <dt>${say("vault")}</dt><dd>${snapshots.vault === "yes" ? say("yes") : snapshots.vault ? html`<${Text} value=${snapshots.vault} kind="code" />` : html`<span class="faint">${say("noVault")}</span>`}</dd>
    </dl>
  </section>`;
}

// Files of other programs: how many are kept, and when a change was taken.
function Guard({ guard, say }) {
  return html`${say("guardText", { places: guard.places, files: guard.files })}
    ${guard.takenAt && html` · <${Time} value=${guard.takenAt} say=${say} />`}
    ${guard.leftOut ? html` <span class="faint">${say("guardLeft", { count: guard.leftOut })}</span>` : null}
    ${guard.fault && html` <span class="badge bad">${say("guardFault")}</span>`}`;
}

// When a restore was last seen to work, and what it answered.
function Proven({ drill, say }) {
  const failed = drill.last === "failed" && html`<span class="badge bad">${say("drillFailed")}</span> `;
  if (!drill.provenAt) return html`${failed}<span class="faint">${say(drill.everySeconds ? "notProven" : "notDrilled")}</span>`;
  return html`${failed}<${Time} value=${drill.provenAt} say=${say} /> <${Mark} good=${drill.signed} words=${["signed", "unsigned"]} say=${say} />
    ${drill.asked ? html`<span class="faint">${say("provenAnswers", { same: drill.same, asked: drill.asked })}</span>` : null}`;
}

function Mark({ good, words, say }) {
  return html`<span class=${`badge ${good ? "good" : ""}`}>${say(words[good ? 0 : 1])}</span> `;
}

function schedule(seconds, say) {
  if (!seconds) return say("byHand");
  const hours = Math.round(seconds / HOUR);
  return hours % 24 === 0 ? say("everyDays", { count: hours / 24 }) : say("everyHours", { count: Math.max(1, hours) });
}

function Index({ data, say }) {
  const { index, events } = data;
  return html`<section class="card" aria-label=${say("index")}>
    <header><h2>${say("index")}</h2></header>
    <dl class="facts">
      <dt>${say("pending")}</dt><dd>${number(index.pending, say)}
        ${index.total ? html`<${Meter} value=${index.done || 0} max=${index.total} label=${say("index")} kind="plain" text=${`${number(index.done, say)} / ${number(index.total, say)}`} />` : null}</dd>
      <dt>${say("model")}</dt><dd>${index.model === "none" ? say("byWords") : html`<${Text} value=${index.model} />`}</dd>
      <dt>${say("eventsPending")}</dt><dd>${number(events.pending, say)}</dd>
      <dt>${say("summarizer")}</dt><dd>${data.summarizer === "none" ? html`<span class="faint">${say("none")}</span>` : html`<${Text} value=${data.summarizer} />`}</dd>
      <dt>${say("scope")}</dt><dd>${say(data.agentScope === "isolated" ? "isolated" : "shared")}</dd>
    </dl>
  </section>`;
}

function Disk({ disk, say }) {
  const used = disk.database + disk.earlier + disk.snapshots;
  return html`<section class="card" aria-label=${say("disk")}>
    <header><h2>${say("disk")}</h2></header>
    <${Meter} value=${used} max=${used + disk.free} label=${say("disk")} text=${say("used", { used: bytes(used, say), free: bytes(disk.free, say) })} />
    <dl class="facts">
      <dt>${say("database")}</dt><dd>${bytes(disk.database, say)}</dd>
      <dt>${say("snapshotHealth")}</dt><dd>${bytes(disk.snapshots, say)}</dd>
      ${disk.earlier ? html`<dt>${say("earlier")}</dt><dd>${bytes(disk.earlier, say)}</dd>` : null}
      <dt>${say("where")}</dt><dd><${Text} value=${disk.path} kind="code" /></dd>
    </dl>
  </section>`;
}

function Activity({ rows, say, go }) {
  return html`<section class="card activity" aria-label=${say("activity")}>
    <header><h2>${say("activity")}</h2><span class="faint">${say("activityNote")}</span></header>
    ${rows.length === 0 && html`<p class="faint">${say("whatsNew")}</p>`}
    <ol>${rows.map((row) => html`<li key=${row.kind + row.id}><${Happened} row=${row} say=${say} go=${go} /></li>`)}</ol>
  </section>`;
}

function Happened({ row, say, go }) {
  const title = row.count === undefined ? row.title : say(`${row.kind}Count`, { count: row.count });
  const inside = html`<span class=${`badge ${row.kind === "memory" ? "accent" : row.kind === "forgotten" ? "bad" : ""}`}>${say(`kind_${row.kind}`)}</span>
    <span class="grow cut"><${Text} value=${title} /></span>
    <span class="faint when"><${Time} value=${row.at} say=${say} /></span>`;
  if (!panelOf(row.panel)) return html`<div class="happened">${inside}</div>`;
  return html`<button type="button" class="happened" onClick=${() => go(row.panel, row.params)}>${inside}</button>`;
}

export default { name: "dashboard", Panel };
