// What an agent is told when it starts on a project: the very lines, each with its reason and the record it is from.
import { Empty, Failed } from "../parts/empty.js";
import { Filter } from "../parts/filter.js";
import { useProjects } from "../parts/projects.js";
import { Block, nameIn, Text, typeName } from "../parts/text.js";
import { hashOf } from "../router.js";
import { html, isAnew, useLive, useLoad, useSoon } from "../ui.js";

const OFFERED = 12;
const CHANGES = new Set(["memory", "slot", "lesson", "session", "summary", "relation", "forgotten", "compressed_observation", "lesson_decay"]);
// How the server words a reason, what it is called here, and which panel shows the record.
const REASONS = [
  ["slot", /^pinned slot$/, (ids) => ["slots", { label: labelOf(ids[0]) }]],
  ["lesson", /^lesson, confidence (?<sure>[\d.]+)$/, () => ["lessons", {}]],
  ["memory", /^memory of (?<date>\S+), (?<type>.*), importance (?<importance>\d+)$/, (ids) => ["memories", { id: ids[0] }]],
  ["wish", /^the user said it on (?<date>\S+), (?<type>\w+), worth (?<worth>[\d.]+)$/, (ids) => ["memories", { id: ids[0], kind: "observation" }]],
  ["said", /^said on (?<date>\S+), (?<type>\w+), worth (?<worth>[\d.]+)$/, (ids) => ["memories", { id: ids[0], kind: "observation" }]],
  ["session", /^one of the last sessions$/, (ids) => ["sessions", { id: ids[0] }]],
  ["files", /^changed most often$/, () => null],
];

function Panel({ api, live, say, go, params }) {
  const projects = useProjects(api);
  const project = params.project || "";
  const { data, error, loading, reload } = useLoad(() => (project ? api.post("/context", { project, explain: true }) : api.get("/sessions", { limit: 1 }).then(() => null)), [api, project]);
  const soon = useSoon(reload, 1_000);
  useLive(live, (event) => (isAnew(event) || CHANGES.has(event.type)) && soon());
  const choose = (name) => go("context", { project: name });
  return html`<header><h1>${say("context")}</h1>
      <span class="faint" role="status">${project && data ? say("tokens", { count: data.tokens }) : ""}</span><p class="faint grow">${say("about")}</p>
      <div class="bar-of-controls"><${Filter} name=${say("project")} value=${project} projects=${projects} onSet=${choose} /></div></header>
    ${!project && !error && html`<${Choose} ...${{ projects, choose, say }} />`}
    ${error && html`<${Failed} error=${error} say=${say} retry=${reload} />`}
    ${project && !error && loading && !data && html`<p class="faint" role="status">${say("loading")}</p>`}
    ${project && !error && data && (data.lines.length ? html`<${Told} answer=${data} say=${say} />` : html`<${Empty} title=${say("nothing")} text=${say("nothingText")} command="holdfast connect --help" />`)}`;
}

function Choose({ projects, choose, say }) {
  if (!projects.length) return html`<${Empty} title=${say("noProject")} text=${say("noProjectText")} command="holdfast connect --help" />`;
  return html`<${Empty} title=${say("chooseTitle")}>
    <div class="bar-of-controls offered">${projects.slice(0, OFFERED).map((name) => html`<button type="button" key=${name} onClick=${() => choose(name)}><bdi>${name}</bdi></button>`)}</div>
  <//>`;
}

function Told({ answer, say }) {
  const sections = [...new Set(answer.lines.map((line) => line.section))];
  const left = Object.entries(answer.omitted);
  const shortened = Object.entries(answer.shortened);
  return html`
    ${sections.map((section) => html`<section key=${section} class="card told" aria-label=${section}>
      <h2 lang="en">${section}</h2>
      <ul class="plain">${answer.lines.filter((line) => line.section === section).map((line, at) => html`<${Line} key=${at} line=${line} say=${say} />`)}</ul>
    </section>`)}
    ${left.length > 0 && html`<p class="faint">${say("omitted")} ${left.map(([section, count]) => `${section}: ${count}`).join(", ")}</p>`}
    ${shortened.length > 0 && html`<p class="faint">${say("shortened")} ${shortened.map(([section, count]) => `${section}: ${count}`).join(", ")}</p>`}
    <details class="card"><summary>${say("exact")}</summary><${Block} value=${answer.context} code label=${say("exact")} /></details>`;
}

function Line({ line, say }) {
  const [kind, found, opens] = known(line.reason);
  const place = found && line.ids.length ? opens(line.ids) : null;
  const { type, ...values } = (found && found.groups) || {};
  const reason = found ? say(`reason_${kind}`, { ...values, type: type && nameOf(type, say) }) : line.reason;
  return html`<li>
    <${Block} value=${line.text.replace(/^- /, "")} />
    <div class="line-of-facts faint"><${Text} value=${reason} />
      ${place && html`<a href=${hashOf(...place)}>${say(`open_${kind}`)}</a>`}</div>
  </li>`;
}

// What kind of reason it is, its parts, and where the record is shown.
function known(reason) {
  for (const [kind, pattern, opens] of REASONS) {
    const found = pattern.exec(reason);
    if (found) return [kind, found, opens];
  }
  return ["", null, null];
}

function nameOf(type, say) {
  const said = nameIn(say, "kind", type);
  return said === type ? typeName(type, say) : said;
}

// The key of a slot is scope, label, agent and project, each encoded.
const labelOf = (id) => decodeURIComponent((id || "").split("/")[1] || "");

export default { name: "context", Panel };
