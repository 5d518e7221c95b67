// Why a snapshot is not opened, and what a person can say so that it is: where its key lies, or that a check is waived.
import { html } from "../ui.js";
import { Failed } from "./empty.js";

// What each fault lets a person say; `fits` tells of which snapshots.
const WAIVERS = {
  snapshot_untrusted: { said: { allowUnsigned: true }, word: "allowUnsigned", fits: (one) => !one.signer },
  snapshot_older: { said: { allowOlder: true }, word: "allowOlder", fits: () => true },
};

export const canBeAnswered = (error) => error.code === "identity_needed" || error.code in WAIVERS;

// waive(said): ask again and say this too.
export function Refusal({ error, one, say, waive, retry }) {
  if (error.code === "identity_needed") return html`<${KeyFile} say=${say} waive=${waive} />`;
  const waiver = WAIVERS[error.code];
  if (!waiver || !waiver.fits(one)) return html`<${Failed} error=${error} say=${say} retry=${retry} />`;
  return html`<div class="refusal" role="alert">
    <p>${say(`${waiver.word}Text`)}</p>
    <div class="buttons"><button type="button" class="danger" onClick=${() => waive(waiver.said)}>${say(waiver.word)}</button></div>
  </div>`;
}

function KeyFile({ say, waive }) {
  const open = (event) => {
    event.preventDefault();
    waive({ identity: new FormData(event.currentTarget).get("identity").trim() });
  };
  return html`<form class="refusal" onSubmit=${open}>
    <p role="alert">${say("keyFileText")}</p>
    <label class="field"><span>${say("keyFile")}</span><input name="identity" required autofocus autocomplete="off" spellcheck=${false} /></label>
    <div class="buttons"><button type="submit" class="main">${say("open")}</button></div>
  </form>`;
}
