import { html } from "../ui.js";

function Panel({ say }) {
  return html`<h1>${say("sessions")}</h1>`;
}

export default { name: "sessions", Panel };
