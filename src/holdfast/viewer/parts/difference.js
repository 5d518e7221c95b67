// Two states of the memory side by side: what is only in the first, what is only in the second, what changed.
import { html } from "../ui.js";
import { nameIn, Tags, Text } from "./text.js";

export function Difference({ found, left, right, say }) {
  const tables = found.tables.filter((one) => one.added || one.removed || one.changed);
  const folders = found.folders.filter((one) => one.change !== "same" || one.files.length);
  if (found.same || (!tables.length && !folders.length && !found.state.length)) return html`<p class="faint" role="status">${say("same")}</p>`;
  const all = [...tables, ...folders.map((one) => counted(one.files))].reduce((sum, one) => sum + one.added + one.removed + one.changed, 0);
  return html`<div class="difference">
    <p class="faint" role="status">${say("allChanges", { count: all })}</p>
    ${tables.map((one) => html`<${Sides} key=${one.table} ...${{ title: nameIn(say, "table", one.table), one, rows: one.records, nameOf: (row) => row.title || row.id, left, right, say }} />`)}
    ${folders.map((one) => html`<${Sides} key=${one.folder} ...${{ title: say("folderOf", { name: one.folder }), one: counted(one.files), rows: one.files, nameOf: (row) => row.path, left, right, say }}>
      ${one.commits && html`<${Commits} commits=${one.commits} say=${say} />`}<//>`)}
    ${found.state.length > 0 && html`<${State} ...${{ rows: found.state, left, right, say }} />`}
  </div>`;
}

function counted(files) {
  const count = (change) => files.filter((file) => file.change === change).length;
  return { added: count("added"), removed: count("removed"), changed: files.length - count("added") - count("removed") };
}

const KINDS = { added: "good", removed: "bad", changed: "warn" };

function Counts({ one, say }) {
  return Object.entries(KINDS)
    .filter(([change]) => one[change] > 0)
    .map(([change, kind]) => html`<span key=${change} class=${`badge ${kind}`}>${say(`${change}Count`, { count: one[change] })}</span> `);
}

function Commits({ commits, say }) {
  return html`<p class="faint">${say("commitsCount", { added: commits.added, removed: commits.removed })}</p><${Tags} values=${commits.subjects} />`;
}

// A row that is only on one side leaves the other one empty, as in a comparison of two texts.
function Sides({ title, one, rows, nameOf, left, right, say, children }) {
  const all = one.added + one.removed + one.changed;
  return html`<section class="sides"><h3><${Text} value=${title} /> <${Counts} one=${one} say=${say} /></h3>
    <div class="scroll" tabindex="0" role="region" aria-label=${title}><table>
      <thead><tr><th scope="col">${left}</th><th scope="col">${right}</th></tr></thead>
      <tbody>${rows.map((row, index) => html`<tr key=${index}>
        <td class=${row.change === "added" ? "nothing" : row.change}>${row.change === "added" ? "" : html`<${Side} row=${row} name=${nameOf(row)} sign=${row.change === "removed" ? "−" : "~"} say=${say} />`}</td>
        <td class=${row.change === "removed" ? "nothing" : row.change}>${row.change === "removed" ? "" : html`<${Side} row=${row} name=${nameOf(row)} sign=${row.change === "added" ? "+" : "~"} say=${say} />`}</td>
      </tr>`)}</tbody>
    </table></div>
    ${rows.length < all && html`<p class="faint">${say("andMore", { count: all - rows.length })}</p>`}
    ${children}
  </section>`;
}

function Side({ row, name, sign, say }) {
  const lines = row.linesAdded || row.linesRemoved ? ` (+${row.linesAdded || 0} −${row.linesRemoved || 0})` : "";
  return html`<span aria-label=${say(`change_${row.change}`)}>${sign}</span> <${Text} value=${name} />${lines}`;
}

function State({ rows, left, right, say }) {
  return html`<details class="sides"><summary>${say("stateOfWork")}</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${say("stateOfWork")}><table>
      <thead><tr><th scope="col">${say("what")}</th><th scope="col">${left}</th><th scope="col">${right}</th></tr></thead>
      <tbody>${rows.map((one) => html`<tr key=${one.key}><th scope="row"><${Text} value=${one.key} kind="code" /></th>
        <td><${Text} value=${one.before} /></td><td><${Text} value=${one.after} /></td></tr>`)}</tbody>
    </table></div></details>`;
}
