// A worker that finds places for the nodes of the graph, so that the page can draw and answer meanwhile.
// In: {nodes: [[radius, is folder]…], edges: [[source, target, is parent]…]} or {pin: [index, x, y]} or {free: index}.
// Out: {places: Float32Array of x, y for each node, done}. The same graph gets the same places: nothing is left to chance.
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "../vendor/d3-force.js";

const SHOW_MS = 30; // places are sent no faster than they are drawn
let simulation = null;
let nodes = [];
let running = false;

onmessage = ({ data }) => {
  if (data.nodes) begin(data);
  else if (data.pin) pin(...data.pin);
  else if (data.free !== undefined) free(data.free);
};

function begin({ nodes: given, edges }) {
  nodes = given.map(([radius, folder]) => ({ radius, folder }));
  const links = edges.map(([source, target, parent]) => ({ source, target, parent }));
  simulation = forceSimulation(nodes)
    .force("links", forceLink(links).distance((link) => (link.parent ? 46 : 34)).strength((link) => (link.parent ? 0.5 : 0.12)))
    .force("apart", forceManyBody().strength((node) => (node.folder ? -90 : -26)).theta(1.1).distanceMax(420))
    .force("room", forceCollide((node) => node.radius + 1.5))
    .force("x", forceX().strength(0.05))
    .force("y", forceY().strength(0.05))
    .alphaDecay(0.03)
    .stop();
  run();
}

function pin(index, x, y) {
  const node = nodes[index];
  if (!node) return;
  node.fx = x;
  node.fy = y;
  simulation.alpha(Math.max(simulation.alpha(), 0.2));
  run();
}

function free(index) {
  if (nodes[index]) nodes[index].fx = nodes[index].fy = null;
}

function run() {
  if (running) return;
  running = true;
  step();
}

function step() {
  const until = performance.now() + SHOW_MS;
  do simulation.tick();
  while (performance.now() < until && simulation.alpha() > simulation.alphaMin());
  const done = simulation.alpha() <= simulation.alphaMin();
  const places = new Float32Array(nodes.length * 2);
  nodes.forEach((node, index) => {
    places[2 * index] = node.x;
    places[2 * index + 1] = node.y;
  });
  postMessage({ places, done }, [places.buffer]);
  running = !done;
  if (!done) setTimeout(step, 0); // lets messages in between
}
