// Folders and concepts: what the memory is about, and what belongs together. A node leads to its memories.
import { colourOf, makeDrawing, radiusOf } from "../parts/canvas.js";
import { Empty, Failed } from "../parts/empty.js";
import { VirtualList } from "../parts/list.js";
import { usePages } from "../parts/pages.js";
import { Text, typeName } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { html, isAnew, useEffect, useLive, useLoad, useMemo, useRef, useSettled, useState } from "../ui.js";

const LONGEST_LABEL = 34;
const PAGE = 50;
const ROW = 56;
const NODE_ROW = 34;
const CHANGES = new Set(["memory", "forgotten"]);
const ROOT = "."; // the folder of files that lie in none

function Panel({ api, live, say, go, params }) {
  const [typed, setTyped] = useState("");
  const sought = useSettled(typed.trim().toLowerCase(), 200);
  const graph = useLoad(() => api.get("/graph/folders", { project: params.project }), [params.project]);
  const drawn = useMemo(() => graph.data && prepared(graph.data, say), [graph.data, say]);
  // A picture that is looked at must not jump with each memory: it is drawn anew when asked, and after a restore.
  const [grown, setGrown] = useState(false);
  useLive(live, (event) => (isAnew(event) ? graph.reload() : CHANGES.has(event.type) && setGrown(true)));
  useEffect(() => setGrown(false), [graph.data]);
  const [table, setTable] = useState(false);
  const picked = drawn ? drawn.nodes.findIndex((node) => node.id === params.node) : -1;
  const pick = (index) => go("graph", { ...params, node: index >= 0 ? drawn.nodes[index].id : undefined }, { replace: true });
  const marked = useMemo(() => drawn && sought && found(drawn.nodes, sought), [drawn, sought]);
  return html`<header><h1>${say("graph")}</h1><p class="faint grow">${drawn && say("drawn", { nodes: drawn.nodes.length, memories: graph.data.memories })} ${drawn && left(graph.data.leftOut, say)}</p></header>
    <div class="bar-of-controls">
      <label class="inline"><span>${say("find")}</span><input type="search" value=${typed} autocomplete="off" onInput=${(event) => setTyped(event.target.value)} /></label>
      ${marked && html`<span class="faint" role="status">${say("foundCount", { count: marked.size })}</span>`}
      <span class="grow"></span>
      ${grown && html`<button type="button" class="main" onClick=${graph.reload}>${say("drawAnew")}</button>`}
      <span role="group" aria-label=${say("view")}>
        <button type="button" aria-pressed=${!table} onClick=${() => setTable(false)}>${say("picture")}</button>
        <button type="button" aria-pressed=${table} onClick=${() => setTable(true)}>${say("asTable")}</button>
      </span>
    </div>
    ${graph.error && html`<${Failed} error=${graph.error} say=${say} retry=${graph.reload} />`}
    ${drawn && !drawn.nodes.length && html`<${Empty} title=${say("noneTitle")} text=${say("noneText")} command=${'holdfast remember "Deploys run on Tuesdays" --concepts deploy --files ops/deploy.sh'} />`}
    ${drawn && drawn.nodes.length > 0 && html`<div class=${`split graph-split ${picked >= 0 ? "" : "alone"}`}>
      <div class="pane card">${table
        ? html`<${Nodes} ...${{ nodes: marked ? drawn.nodes.filter((_, index) => marked.has(index)) : drawn.nodes, say, params, open: (node) => pick(drawn.nodes.indexOf(node)) }} />`
        : html`<${Picture} ...${{ drawn, picked, marked: marked || null, pick, say }} />`}</div>
      ${picked >= 0 && html`<${Behind} key=${params.node} ...${{ api, say, go, project: params.project, node: drawn.nodes[picked], close: () => pick(-1) }} />`}
    </div>`}`;
}

function prepared({ nodes, edges }, say) {
  const places = new Map(nodes.map((node, index) => [node.id, index]));
  return {
    nodes: nodes.map((node) => ({ ...node, name: node.name === ROOT && node.kind === "folder" ? say("rootFolder") : node.name, asked: node.name })).map((node) => ({ ...node, label: labelOf(node) })),
    edges: edges.map((edge) => ({ source: places.get(edge.source), target: places.get(edge.target), parent: edge.kind === "parent" })),
  };
}

function labelOf(node) {
  const name = node.kind === "folder" ? node.name.split("/").slice(-2).join("/") : node.name;
  return name.length > LONGEST_LABEL ? `${name.slice(0, LONGEST_LABEL - 1)}…` : name;
}

const found = (nodes, sought) => new Set(nodes.flatMap((node, index) => (node.name.toLowerCase().includes(sought) ? [index] : [])));

function left(out, say) {
  const parts = Object.entries(out).filter(([, count]) => count > 0).map(([name, count]) => say(`left_${name}`, { count }));
  return parts.length ? say("leftOut", { what: parts.join(say("comma")) }) : "";
}

function Picture({ drawn, picked, marked, pick, say }) {
  const canvas = useRef(null);
  const drawing = useRef(null);
  const latest = useRef(pick);
  latest.current = pick;
  const [over, setOver] = useState(-1);
  useEffect(() => {
    const worker = new Worker(new URL("./graph_layout.js", import.meta.url), { type: "module" });
    const made = makeDrawing(canvas.current, {
      ...drawn,
      onPick: (index) => latest.current(index),
      onHover: setOver,
      onMove: (change) => worker.postMessage(change),
    });
    drawing.current = made;
    canvas.current.nodeAt = made.at;
    worker.onmessage = ({ data }) => {
      made.place(data.places);
      if (canvas.current) canvas.current.dataset.settled = data.done;
    };
    worker.postMessage({
      nodes: drawn.nodes.map((node) => [radiusOf(node), node.kind === "folder"]),
      edges: drawn.edges.map((edge) => [edge.source, edge.target, edge.parent]),
    });
    return () => {
      worker.terminate();
      made.stop();
    };
  }, [drawn]);
  useEffect(() => drawing.current.pick(picked), [picked, drawn]);
  useEffect(() => drawing.current.mark(marked), [marked, drawn]);
  return html`<canvas ref=${canvas} class="graph-canvas" role="img" tabindex="0" aria-label=${say("pictureLabel", { nodes: drawn.nodes.length })}></canvas>
    <div class="graph-foot faint"><span class="grow">${over >= 0 ? html`<${Text} value=${drawn.nodes[over].name} />` : say("hint")}</span>
      <span>▢ ${say("folder")}</span><span>● ${say("concept")}</span></div>`;
}

function Nodes({ nodes, say, params, open }) {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  return html`<${VirtualList} rows=${nodes} height=${NODE_ROW} keyOf=${(node) => node.id} label=${say("graph")} selected=${params.node} onOpen=${open}
    row=${(node) => html`<div class="line"><i class="swatch" aria-hidden="true" style=${{ background: colourOf(node.folder, dark) }}></i>
      <span class="badge">${say(node.kind)}</span><bdi class="grow">${node.name}</bdi><span class="faint">${say("memoriesCount", { count: node.memories })}</span></div>`} />`;
}

function Behind({ api, say, go, node, project, close }) {
  const load = (offset) => api.get("/graph/memories", { kind: node.kind, name: node.asked, project, limit: PAGE, offset }).then(({ memories, total }) => ({ rows: memories, total }));
  const list = usePages(load, [node.id, project]);
  return html`<section class="pane card" aria-label=${node.name}>
    <div class="bar-of-controls pane-head"><span class="badge">${say(node.kind)}</span><h2 class="grow"><${Text} value=${node.name} /></h2>
      <button type="button" class="quiet" aria-label=${say("close")} onClick=${close}>✕</button></div>
    <p class="faint pane-note" role="status">${!list.loading && say("memoriesCount", { count: list.total })}</p>
    ${list.error && html`<${Failed} error=${list.error} say=${say} retry=${list.reload} />`}
    ${list.rows.length > 0 && html`<${VirtualList} rows=${list.rows} total=${list.total} height=${ROW} keyOf=${(one) => one.id} label=${say("memoriesOf", { name: node.name })}
      onEnd=${list.more} onOpen=${(one) => go("memories", { id: one.id })}
      row=${(one) => html`<div class="line"><bdi class="grow">${one.title}</bdi><span class="badge">${typeName(one.type, say)}</span></div>
        <div class="line faint"><${Time} value=${one.updatedAt} say=${say} /><bdi class="grow">${one.content}</bdi></div>`} />`}
  </section>`;
}

export default { name: "graph", Panel };
