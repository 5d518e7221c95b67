// Asks for the secret or a token. It goes to session storage by `api.signIn` and into no form that a browser keeps.
import { html, useState } from "../ui.js";
import { Choices } from "./frame.js";

export function SignIn({ say, api, open, settings }) {
  const [value, setValue] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const enter = async (event) => {
    event.preventDefault();
    if (!value.trim()) return setProblem(say("secretEmpty"));
    setBusy(true);
    api.signIn(value.trim());
    try {
      await open();
    } catch (error) {
      api.signOut();
      setValue("");
      setProblem(error.status === 401 ? say("secretWrong") : error.status === 403 ? say("secretLacks") : say("unreachable"));
      setBusy(false);
    }
    return undefined;
  };
  return html`<main class="outside">
    <form class="card signin" onSubmit=${enter} autocomplete="off">
      <img src="/viewer/icon.svg" alt="" width="44" height="44" />
      <h1>${say("product")}</h1>
      <p>${say("signInText")}</p>
      <label class="field"><span>${say("secret")}</span>
        <input id="secret" type="password" value=${value} autocomplete="off" autofocus aria-describedby="signin-problem"
          aria-invalid=${problem !== ""} onInput=${(event) => setValue(event.target.value)} />
      </label>
      <p id="signin-problem" class="problem" role="alert">${problem}</p>
      <button class="main" type="submit" disabled=${busy}>${say("signIn")}</button>
      <p class="faint">${say("signInNote")}</p>
      <div class="choices"><${Choices} say=${say} settings=${settings} /></div>
    </form>
  </main>`;
}
