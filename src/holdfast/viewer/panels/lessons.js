// Lessons: how sure each is, and how it fades if nobody confirms it.
import { useAct } from "../parts/act.js";
import { Dialog } from "../parts/dialog.js";
import { Empty, Failed } from "../parts/empty.js";
import { Meter } from "../parts/meter.js";
import { usePages } from "../parts/pages.js";
import { Block, Tags, Text } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { html, isAnew, useLive, useSettled, useSoon, useState } from "../ui.js";

const PAGE = 60;
const WEEK_MS = 7 * 86_400_000;
const FLOOR = 0.05;
const FADED = 0.1; // at or below this a lesson that was never confirmed is put away
const WEEKS = 26;

function Panel({ api, live, say, go, ask, tell }) {
  const [typed, setTyped] = useState("");
  const query = useSettled(typed.trim(), 250);
  const load = async (offset) => {
    const found = query ? await api.post("/lessons/search", { query, limit: 100, minConfidence: 0 }) : await api.get("/lessons", { limit: PAGE, offset });
    return { rows: found.lessons, total: found.total };
  };
  const list = usePages(load, [query]);
  const soon = useSoon(list.refresh);
  useLive(live, (event) => {
    if (isAnew(event) || event.type === "lesson_decay") list.reload();
    else if (event.type === "lesson" && event.data.lesson.deleted) list.drop([event.data.lesson.id]);
    else if (event.type === "lesson") soon();
  });
  const [act] = useAct({ say, tell });
  const [writing, setWriting] = useState(false);
  const strengthen = (one) => act(() => api.post("/lessons/strengthen", { lessonId: one.id }), say("strengthened")).then(list.refresh);
  const remove = async (one) => {
    if (!(await ask({ title: say("removeTitle"), text: [one.content, say("removeText")], action: say("remove") }))) return;
    if (await act(() => api.del("/lessons", { lessonId: one.id }), say("removed"))) list.drop([one.id]);
  };
  return html`<header><h1>${say("lessons")}</h1><span class="faint" role="status">${say("total", { count: list.total })}</span><p class="faint grow">${say("about")}</p>
      <button type="button" class="main" onClick=${() => setWriting(true)}>${say("add")}</button></header>
    <div class="bar-of-controls"><label class="inline grow"><span>${say("find")}</span>
      <input type="search" value=${typed} onInput=${(event) => setTyped(event.target.value)} autocomplete="off" /></label></div>
    ${list.error && !(list.error.status === 0 && list.rows.length) && html`<${Failed} error=${list.error} say=${say} retry=${list.reload} />`}
    ${!list.error && !list.loading && !list.rows.length && (query
      ? html`<${Empty} title=${say("noneSuch")} />`
      : html`<${Empty} title=${say("noneTitle")} text=${say("noneText")} command=${'holdfast lesson save "Run the tests before pushing"'} />`)}
    <ul class="cards plain" aria-label=${say("lessons")}>
      ${list.rows.map((one) => html`<${Lesson} key=${one.id} ...${{ one, say, strengthen, remove }} />`)}
    </ul>
    ${list.rows.length < list.total && html`<div class="buttons"><button type="button" onClick=${list.more}>${say("more")}</button></div>`}
    ${writing && html`<${Write} ...${{ api, say, act, close: () => setWriting(false), saved: list.refresh }} />`}`;
}

function Lesson({ one, say, strengthen, remove }) {
  const sure = Math.round(one.confidence * 100);
  return html`<li class="card lesson">
    <${Block} value=${one.content} />
    ${one.context && html`<p class="faint"><${Text} value=${one.context} /></p>`}
    <${Meter} value=${one.confidence} max=${1} kind="plain" label=${say("confidence")} text=${say("sure", { percent: sure })} />
    <${Decay} lesson=${one} say=${say} />
    <${Tags} values=${one.tags} />
    <div class="line-of-facts faint">
      ${one.reinforcements > 0
        ? html`<span>${say("confirmedTimes", { count: one.reinforcements })}, ${say("lastConfirmed")} <${Time} value=${one.lastReinforcedAt} say=${say} /></span>`
        : html`<span>${say("neverConfirmed")} <${Time} value=${one.createdAt} say=${say} /></span>`}
      ${one.project && html`<bdi>${one.project}</bdi>`}
    </div>
    <div class="buttons">
      <button type="button" class="quiet" aria-label=${say("removeOne", { lesson: short(one.content) })} onClick=${() => remove(one)}>${say("remove")}</button>
      <button type="button" aria-label=${say("strengthenOne", { lesson: short(one.content) })} onClick=${() => strengthen(one)}>${say("strengthen")}</button>
    </div>
  </li>`;
}

const short = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

// How sure it will be in the coming weeks, as the server will count it: whole weeks since it was last confirmed.
export function fading(lesson, now = Date.now()) {
  const marks = [lesson.createdAt, lesson.lastReinforcedAt, lesson.lastDecayedAt].map((at) => (at ? new Date(at).getTime() : 0));
  const since = Math.max(...marks);
  return Array.from({ length: WEEKS + 1 }, (_, week) => {
    const passed = Math.max(0, Math.floor((now + week * WEEK_MS - since) / WEEK_MS));
    return Math.max(FLOOR, lesson.confidence - lesson.decayRate * passed);
  });
}

function Decay({ lesson, say }) {
  const values = fading(lesson);
  const x = (week) => (week / WEEKS) * 260;
  const y = (value) => 50 - value * 46;
  const line = values.map((value, week) => `${week ? "L" : "M"}${x(week).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const gone = lesson.reinforcements === 0 ? values.findIndex((value) => value <= FADED) : -1;
  const text = gone >= 0 ? say("goneIn", { count: gone }) : say("fadesTo", { percent: Math.round(values[WEEKS] * 100) });
  return html`<figure class="decay"><svg viewBox="0 0 260 52" role="img" aria-label=${text} preserveAspectRatio="none">
      <line x1="0" x2="260" y1=${y(FADED)} y2=${y(FADED)} class="limit" />
      <path d=${`${line}L260 50L0 50Z`} class="area" /><path d=${line} class="curve" />
      ${gone >= 0 && html`<line x1=${x(gone)} x2=${x(gone)} y1="0" y2="50" class="end-of-it" />`}
    </svg><figcaption class="faint">${text}</figcaption></figure>`;
}

function Write({ api, say, act, close, saved }) {
  const save = async (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { content: form.get("content"), context: form.get("context"), project: form.get("project") || undefined, tags: form.get("tags") };
    if (await act(() => api.post("/lessons", body), say("saved"))) {
      close();
      saved();
    }
  };
  return html`<${Dialog} title=${say("add")} say=${say} onClose=${close} keeps>
    <form onSubmit=${save}>
      <label class="field"><span>${say("content")}</span><textarea name="content" required autofocus></textarea></label>
      <label class="field"><span>${say("context")}</span><input name="context" /></label>
      <label class="field"><span>${say("project")}</span><input name="project" /></label>
      <label class="field"><span>${say("tags")}</span><input name="tags" /></label>
      <div class="buttons"><button type="button" onClick=${close}>${say("cancel")}</button><button type="submit" class="main">${say("save")}</button></div>
    </form>
  <//>`;
}

export default { name: "lessons", Panel };
