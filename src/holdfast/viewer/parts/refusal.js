// Why a snapshot is not opened, and what a person can say so that it is: where its key lies, or that a check is waived.
import { html } from "../ui.js";
import { Failed } from "./empty.js";

// What each fault lets a person say; `fits` tells of which snapshots.
const WAIVERS = {
  snapshot_untrusted: { said: { allowUnsigned: true }, word: "allowUnsigned", fits: (one) => !one.signer },
  snapshot_older: { said: { allowOlder: true }, word: "allowOlder", fits: () => true },
  // What is live would be kept in the clear beside encrypted snapshots; a key file says for whom to encrypt it.
  conflict: { said: { plainBefore: true }, word: "plainBefore", fits: () => true, keyFile: true },
};

export const canBeAnswered = (error) => error.code === "identity_needed" || error.code in WAIVERS;

// waive(said): ask again and say this too.
export function Refusal({ error, one, say, waive, retry }) {
  if (error.code === "identity_needed") return html`<${KeyFile} text=${say("keyFileText")} say=${say} waive=${waive} />`;
  const waiver = WAIVERS[error.code];
  if (!waiver || !waiver.fits(one)) return html`<${Failed} error=${error} say=${say} retry=${retry} />`;
  const text = say(`${waiver.word}Text`);
  return html`${waiver.keyFile && html`<${KeyFile} text=${text} say=${say} waive=${waive} />`}
  <div class="refusal" role="alert">
    <p>${waiver.keyFile ? say("orElse") : text}</p>
    <div class="buttons"><button type="button" class="danger" onClick=${() => waive(waiver.said)}>${say(waiver.word)}</button></div>
  </div>`;
}

function KeyFile({ text, say, waive }) {
  const open = (event) => {
    event.preventDefault();
    waive({ identity: new FormData(event.currentTarget).get("identity").trim() });
  };
  return html`<form class="refusal" onSubmit=${open}>
    <p role="alert">${text}</p>
    <label class="field"><span>${say("keyFile")}</span><input name="identity" required autofocus autocomplete="off" spellcheck=${false} /></label>
    <div class="buttons"><button type="submit" class="main">${say("open")}</button></div>
  </form>`;
}
