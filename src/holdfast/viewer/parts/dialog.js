// A modal window. The browser's own <dialog> keeps the focus inside and closes on Escape. One that `keeps` what is typed
// into it asks before that is lost; only its own buttons close it without a question.
import { html, useEffect, useId, useRef, useState } from "../ui.js";

export function Dialog({ title, say, onClose, children, wide = false, keeps = false }) {
  const box = useRef(null);
  const typed = useRef(false);
  const pressed = useRef(null);
  const [asking, setAsking] = useState(false);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current.showModal();
    return () => before && before.focus && before.focus();
  }, []);
  const leave = () => (keeps && typed.current ? setAsking(true) : onClose());
  // Text that is marked with the mouse may end outside; only a press that also began there means to close.
  const outside = (event) => event.target === box.current && pressed.current === box.current && leave();
  const cancelled = (event) => {
    event.preventDefault();
    leave();
  };
  // A browser closes it at the second Escape, whatever it is told.
  const closed = () => {
    if (!keeps || !typed.current) return onClose();
    box.current.showModal();
    return setAsking(true);
  };
  return html`<dialog ref=${box} class=${wide ? "wide" : ""} aria-labelledby=${id} onClick=${outside} onCancel=${cancelled} onClose=${closed}
    onPointerDown=${(event) => (pressed.current = event.target)}>
    <header>
      <h2 id=${id}>${title}</h2>
      <button type="button" class="quiet" aria-label=${say("close")} onClick=${leave}>✕</button>
    </header>
    <div class="inside" onInput=${() => (typed.current = true)}>${children}</div>
    ${asking && html`<div class="discarding" role="alert"><p>${say("discardText")}</p>
      <div class="buttons"><button type="button" onClick=${onClose}>${say("discard")}</button>
        <button type="button" class="main" onClick=${() => setAsking(false)}>${say("keepEditing")}</button></div></div>`}
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
