import { html } from "../ui.js";

function Panel({ say }) {
  return html`<h1>${say("memories")}</h1>`;
}

export default { name: "memories", Panel };
