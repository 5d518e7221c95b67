import { html } from "../ui.js";

function Panel({ say }) {
  return html`<h1>${say("dashboard")}</h1>`;
}

export default { name: "dashboard", Panel };
