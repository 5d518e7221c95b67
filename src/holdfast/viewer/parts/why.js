// Why a hit was found: what each reason added to its score, and which words matched where.
import { html } from "../ui.js";
import { textOf } from "./text.js";

const REASONS = ["words", "meaning", "turn", "worth", "exact", "date", "speaker", "disclosed", "neighbours", "newer", "recent", "important", "recalled", "asking", "deed"];
const SMALL = 0.00005;

export function Why({ why, say }) {
  const parts = REASONS.map((name) => [name, Number(why[name]) || 0]).filter(([, value]) => Math.abs(value) > SMALL);
  const largest = Math.max(...parts.map(([, value]) => Math.abs(value)), SMALL);
  const fields = Object.entries(why.fields || {});
  return html`<section class="why" aria-label=${say("why")}>
    <h2>${say("why")} <span class="faint">${say("score", { score: round(why.score) })} · ${say("confidence", { confidence: percent(why.confidence), covered: percent(why.covered) })}</span></h2>
    <table>
      <tbody>${parts.map(([name, value]) => html`<tr key=${name}>
        <th scope="row">${say(`why_${name}`)}</th>
        <td><div class="bar" aria-hidden="true"><div class=${`fill ${value < 0 ? "bad" : "plain"}`} style=${{ width: `${(100 * Math.abs(value)) / largest}%` }}></div></div></td>
        <td class="end">${value > 0 ? "+" : "−"}${round(Math.abs(value))}</td>
      </tr>`)}</tbody>
    </table>
    ${fields.length > 0 && html`<dl class="facts">${fields.map(([field, words]) => html`
      <dt>${say(`field_${field}`)}</dt><dd>${[].concat(words).map((word) => html`<mark>${textOf(word)}</mark> `)}</dd>`)}</dl>`}
  </section>`;
}

// A probability or a share, as people read it.
export function percent(value) {
  return `${Math.round(100 * (Number(value) || 0))} %`;
}

function round(value) {
  return (Number(value) || 0).toFixed(3);
}
