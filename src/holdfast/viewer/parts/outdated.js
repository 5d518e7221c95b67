// What came in the place of something that a hit states, and the button that takes it back.
import { html } from "../ui.js";
import { useAct } from "./act.js";
import { Block } from "./text.js";
import { Time } from "./time.js";

// A mark for a row of a list; nothing if the hit holds.
export function OutdatedMark({ hit, say }) {
  if (!hit.outdated && !hit.newer) return null;
  return html`<span class="badge warn">${say(hit.outdated ? "outdated" : "perhapsOutdated")}</span>`;
}

// `restored` is called when the mark is gone.
export function Outdated({ hit, api, say, go, tell, restored }) {
  const newer = hit.supersededBy || hit.newer;
  const [act, busy] = useAct({ say, tell });
  if (!newer) return null;
  const keep = async () => {
    if (await act(() => api.post("/still-true", { id: hit.id }), say("restored"))) restored();
  };
  const kind = newer.id.startsWith("mem_") ? undefined : "observation";
  return html`<section class="outdated" aria-label=${say("supersededBy")}>
    <h2>${say(hit.outdated ? "supersededBy" : "saidAnew")} <span class="faint"><${Time} value=${newer.timestamp} say=${say} /></span></h2>
    <${Block} value=${newer.text} />
    <div class="bar-of-controls">
      <button type="button" onClick=${() => go("memories", { id: newer.id, kind })}>${say("openNewer")}</button>
      <button type="button" disabled=${busy} onClick=${keep}>${say("stillTrue")}</button>
    </div>
  </section>`;
}
