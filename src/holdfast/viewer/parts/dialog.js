// A modal window. The browser's own <dialog> keeps the focus inside and closes on Escape.
import { html, useEffect, useId, useRef, useState } from "../ui.js";

export function Dialog({ title, say, onClose, children, wide = false }) {
  const box = useRef(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before && before.focus && before.focus();
  }, []);
  const outside = (event) => event.target === box.current && onClose();
  return html`<dialog ref=${box} class=${wide ? "wide" : ""} aria-labelledby=${id} onClick=${outside}
    onCancel=${(event) => { event.preventDefault(); onClose(); }}>
    <header>
      <h2 id=${id}>${title}</h2>
      <button type="button" class="quiet" aria-label=${say("close")} onClick=${onClose}>✕</button>
    </header>
    <div class="inside">${children}</div>
  </dialog>`;
}

// Asks before something is done; with `typed`, that word must be typed first.
export function Confirm({ title, text, typed, action, danger = true, say, onAnswer }) {
  const [word, setWord] = useState("");
  const answer = (event) => {
    event.preventDefault();
    if (!typed || word === typed) onAnswer(true);
  };
  return html`<${Dialog} title=${title} say=${say} onClose=${() => onAnswer(false)}>
    <form onSubmit=${answer}>
      ${[].concat(text || []).map((line) => html`<p>${line}</p>`)}
      ${typed && html`<label class="field">
        <span>${say("typeToConfirm", { word: typed })}</span>
        <input value=${word} autocomplete="off" spellcheck=${false} autofocus onInput=${(event) => setWord(event.target.value)} />
      </label>`}
      <div class="buttons">
        <button type="button" onClick=${() => onAnswer(false)}>${say("cancel")}</button>
        <button type="submit" class=${danger ? "danger" : "main"} disabled=${Boolean(typed) && word !== typed}>${action || say("confirm")}</button>
      </div>
    </form>
  <//>`;
}
