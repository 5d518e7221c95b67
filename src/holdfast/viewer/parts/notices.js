// Notices in a corner; read out by screen readers as they come.
import { html } from "../ui.js";

export function Notices({ notices, dismiss, say }) {
  return html`<div class="notices" role="region" aria-label=${say("notices")} aria-live="polite">
    ${notices.map((one) => html`<div key=${one.id} class=${`notice ${one.kind}`} role=${one.kind === "bad" ? "alert" : undefined}>
      <span>${one.text}</span>
      <button type="button" class="quiet" aria-label=${say("dismiss")} onClick=${() => dismiss(one.id)}>✕</button>
    </div>`)}
  </div>`;
}
