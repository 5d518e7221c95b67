// Keys that work everywhere, and the list of them.
import { html } from "../ui.js";
import { PANELS } from "../panels.js";
import { Dialog } from "./dialog.js";

const PAIR_MS = 1_500; // how long "g" waits for its letter

export function watchKeys({ go, showKeys }) {
  let pairUntil = 0;
  const pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if (event.timeStamp < pairUntil) {
      pairUntil = 0;
      const panel = PANELS.find((one) => one.key === event.key.toLowerCase());
      if (!panel) return;
      event.preventDefault();
      go(panel.name);
      document.getElementById("main")?.focus();
    } else if (event.key === "g") pairUntil = event.timeStamp + PAIR_MS;
    else if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search")?.focus();
    } else if (event.key === "?") {
      event.preventDefault();
      showKeys();
    }
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}

function isTyping(node) {
  return node instanceof Element && node.closest("input, textarea, select, [contenteditable]") !== null;
}

export function Keys({ say, onClose }) {
  const rows = [
    ["/", say("keySearch")],
    ...PANELS.map((panel) => [`g ${panel.key}`, say("keyGo", { panel: say(panel.name) })]),
    ["↑ ↓", say("keyMenu")],
    ["↑ ↓ ⏎ Esc", say("keyList")],
    ["?", say("keyHelp")],
  ];
  return html`<${Dialog} title=${say("keysTitle")} say=${say} onClose=${onClose}>
    <dl class="keys">
      ${rows.map(([keys, text]) => html`<div key=${keys}><dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${text}</dd></div>`)}
    </dl>
  <//>`;
}
