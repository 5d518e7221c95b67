// Draws a graph on a canvas: nodes in the colours of their folders, moved and zoomed by pointer and keys.
const LABELS = 60;
const HUES = 24;
const NEAR = 8; // px around a node that still mean it
// While something moves, only so many lines and names are drawn, the heaviest; the rest comes once it stands still.
// Without a graphics card 8,000 lines and 60 outlined names take 40 ms, these 12.
const QUICK_LINES = 2_000;
const QUICK_NAMES = 16;
const STILL_MS = 160;
const EASE = 0.4; // of the way to its new place that a node goes in one frame

// The same name has the same colour today and tomorrow, here and on another machine.
export function hueOf(name) {
  let hash = 2166136261;
  for (const char of name) hash = Math.imul(hash ^ char.codePointAt(0), 16777619) >>> 0;
  return ((hash % HUES) * 360) / HUES;
}

export const colourOf = (name, dark) => (name ? `hsl(${hueOf(name)} ${dark ? "58% 62%" : "62% 40%"})` : dark ? "#8a97a1" : "#74808a");
export const radiusOf = (node) => (node.kind === "folder" ? 5 : 3) + Math.min(9, Math.sqrt(node.memories));

export function makeDrawing(canvas, { nodes, edges, onPick, onHover, onMove }) {
  const context = canvas.getContext("2d");
  const radii = nodes.map(radiusOf);
  const state = { places: null, scale: 1, x: 0, y: 0, picked: -1, hovered: -1, marked: null, dirty: true, gone: false, drawn: 0, targets: null, movedAt: 0, quick: false };
  let groups = [];
  let ink = {};

  function recolour() {
    const style = getComputedStyle(document.documentElement);
    const dark = style.colorScheme === "dark";
    ink = Object.fromEntries(["--line", "--faint", "--text", "--accent", "--card"].map((name) => [name, style.getPropertyValue(name).trim()]));
    const byColour = new Map();
    nodes.forEach((node, index) => {
      const colour = colourOf(node.folder, dark);
      if (!byColour.has(colour)) byColour.set(colour, []);
      byColour.get(colour).push(index);
    });
    groups = [...byColour];
    state.dirty = true;
  }

  function resize() {
    const ratio = Math.min(2, devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    state.ratio = ratio;
    state.dirty = true;
    if (state.places && !state.touched) fit();
  }

  function fit() {
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let index = 0; index < nodes.length; index++) {
      left = Math.min(left, state.places[2 * index]);
      right = Math.max(right, state.places[2 * index]);
      top = Math.min(top, state.places[2 * index + 1]);
      bottom = Math.max(bottom, state.places[2 * index + 1]);
    }
    const [wide, tall] = [canvas.clientWidth, canvas.clientHeight];
    state.scale = Math.min(3, 0.92 * Math.min(wide / Math.max(60, right - left), tall / Math.max(60, bottom - top)));
    state.x = wide / 2 - ((left + right) / 2) * state.scale;
    state.y = tall / 2 - ((top + bottom) / 2) * state.scale;
  }

  function draw() {
    if (state.gone) return;
    requestAnimationFrame(draw);
    if (!state.places) return;
    const now = performance.now();
    if (state.targets) glide();
    if (state.dirty) state.movedAt = now;
    else if (!state.quick || now - state.movedAt < STILL_MS) return;
    state.quick = state.dirty && state.drawn > 0;
    state.dirty = false;
    state.drawn += 1;
    canvas.dataset.drawn = state.drawn;
    const { ratio, scale, places } = state;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * state.x, ratio * state.y);
    lines(places, scale);
    dots(places);
    names(places);
  }

  // Nodes glide to where the layout now wants them, so that a slow layout still moves smoothly.
  function glide() {
    const { places, targets } = state;
    let far = 0;
    for (let at = 0; at < places.length; at++) {
      const step = (targets[at] - places[at]) * EASE;
      places[at] += step;
      far = Math.max(far, Math.abs(step));
    }
    if (far * state.scale < 0.2) state.targets = null;
    if (!state.touched) fit();
    state.dirty = true;
  }

  // All lines of a kind as one path: a stroke for each of 8,000 takes five times as long.
  function lines(places, scale) {
    const drawn = state.quick ? edges.slice(0, QUICK_LINES) : edges; // parents come first, then the heaviest
    for (const parent of [false, true]) {
      context.beginPath();
      for (const edge of drawn) {
        if (edge.parent !== parent) continue;
        context.moveTo(places[2 * edge.source], places[2 * edge.source + 1]);
        context.lineTo(places[2 * edge.target], places[2 * edge.target + 1]);
      }
      context.lineWidth = (parent ? 1.4 : 0.7) / scale;
      context.strokeStyle = parent ? ink["--faint"] : ink["--line"];
      context.stroke();
    }
  }

  function dots(places) {
    const { marked } = state;
    for (const [colour, members] of groups) {
      context.beginPath();
      for (const index of members) {
        if (marked && !marked.has(index)) continue;
        const [x, y, radius] = [places[2 * index], places[2 * index + 1], radii[index]];
        if (nodes[index].kind === "folder") context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
        else {
          context.moveTo(x + radius, y);
          context.arc(x, y, radius, 0, 6.2832);
        }
      }
      context.fillStyle = colour;
      context.fill();
    }
    for (const index of [state.hovered, state.picked]) {
      if (index < 0) continue;
      context.beginPath();
      context.arc(places[2 * index], places[2 * index + 1], radii[index] + 4 / state.scale, 0, 6.2832);
      context.lineWidth = 2 / state.scale;
      context.strokeStyle = ink["--accent"];
      context.stroke();
    }
  }

  function names(places) {
    const size = 11.5 / state.scale;
    context.font = `${size}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.fillStyle = ink["--text"];
    context.strokeStyle = ink["--card"];
    context.lineWidth = 3 / state.scale;
    context.lineJoin = "round";
    // The heaviest come first in the list; closer in, more of them have room.
    const most = state.quick ? QUICK_NAMES : Math.round(LABELS * Math.min(4, Math.max(0.4, state.scale)));
    const shown = new Set([...(state.marked || nodes.keys())].slice(0, most));
    for (const index of [state.hovered, state.picked]) if (index >= 0) shown.add(index);
    for (const index of shown) {
      const label = nodes[index].label;
      const y = places[2 * index + 1] - radii[index] - 3 / state.scale;
      if (!state.quick) context.strokeText(label, places[2 * index], y);
      context.fillText(label, places[2 * index], y);
    }
  }

  const toGraph = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left - state.x) / state.scale, (event.clientY - box.top - state.y) / state.scale];
  };

  function nodeAt(x, y) {
    let [best, nearest] = [-1, Infinity];
    for (let index = 0; state.places && index < nodes.length; index++) {
      const far = Math.hypot(state.places[2 * index] - x, state.places[2 * index + 1] - y) - radii[index];
      if (far < nearest && far < NEAR / state.scale) [best, nearest] = [index, far];
    }
    return best;
  }

  function zoom(factor, clientX, clientY) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    const scale = Math.min(8, Math.max(0.05, state.scale * factor));
    state.x = x - ((x - state.x) * scale) / state.scale;
    state.y = y - ((y - state.y) * scale) / state.scale;
    state.scale = scale;
    state.touched = state.dirty = true;
  }

  let held = null;
  const down = (event) => {
    const [x, y] = toGraph(event);
    held = { node: nodeAt(x, y), x: event.clientX, y: event.clientY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  };
  const move = (event) => {
    const [x, y] = toGraph(event);
    if (!held) {
      const over = nodeAt(x, y);
      if (over === state.hovered) return;
      state.hovered = over;
      state.dirty = true;
      canvas.style.cursor = over >= 0 ? "pointer" : "grab";
      onHover(over);
      return;
    }
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < 4) return;
    held.moved = state.touched = true;
    if (held.node >= 0) onMove({ pin: [held.node, x, y] });
    else {
      state.x += dx;
      state.y += dy;
      [held.x, held.y] = [event.clientX, event.clientY];
      state.dirty = true;
    }
  };
  const up = () => {
    if (held && !held.moved) onPick(held.node);
    if (held && held.moved && held.node >= 0) onMove({ free: held.node });
    held = null;
  };
  const wheel = (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 500), event.clientX, event.clientY);
  };
  const pressed = (event) => {
    const box = canvas.getBoundingClientRect();
    const middle = [box.left + box.width / 2, box.top + box.height / 2];
    const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (steps[event.key]) {
      state.x += steps[event.key][0];
      state.y += steps[event.key][1];
      state.touched = true;
    } else if (event.key === "+" || event.key === "=") zoom(1.25, ...middle);
    else if (event.key === "-") zoom(0.8, ...middle);
    else if (event.key === "0") {
      state.touched = false;
      if (state.places) fit();
    } else return;
    event.preventDefault();
    state.dirty = true;
  };
  const handlers = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, keydown: pressed };
  for (const [name, handler] of Object.entries(handlers)) canvas.addEventListener(name, handler);
  canvas.addEventListener("wheel", wheel, { passive: false });
  const sized = new ResizeObserver(resize);
  sized.observe(canvas);
  const themed = new MutationObserver(recolour);
  themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  recolour();
  resize();
  requestAnimationFrame(draw);

  return {
    place(places) {
      if (state.places) state.targets = places;
      else {
        state.places = places;
        fit();
        state.dirty = true;
      }
    },
    pick(index) {
      state.picked = index;
      state.dirty = true;
    },
    mark(indexes) {
      state.marked = indexes;
      state.dirty = true;
    },
    // Where a node stands on the screen, for whoever clicks it.
    at: (index) => state.places && [state.x + state.places[2 * index] * state.scale, state.y + state.places[2 * index + 1] * state.scale],
    stop() {
      state.gone = true;
      sized.disconnect();
      themed.disconnect();
      for (const [name, handler] of Object.entries(handlers)) canvas.removeEventListener(name, handler);
      canvas.removeEventListener("wheel", wheel);
    },
  };
}
