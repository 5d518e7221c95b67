// How full something is: a bar with its value in words.
import { html } from "../ui.js";

export function Meter({ value, max, label, text, kind }) {
  const share = max > 0 ? Math.min(1, Math.max(0, value / max)) : 0;
  const state = kind || (share >= 0.95 ? "bad" : share >= 0.8 ? "warn" : "good");
  return html`<div class="meter">
    <div class="bar" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax=${max} aria-valuenow=${Math.min(value, max)} aria-valuetext=${text}>
      <div class=${`fill ${state}`} style=${{ width: `${share * 100}%` }}></div>
    </div>
    ${text && html`<span class="faint">${text}</span>`}
  </div>`;
}
