// Who changed what, and when. The log never holds the text itself.
import { Empty, Failed } from "../parts/empty.js";
import { VirtualList } from "../parts/list.js";
import { usePages } from "../parts/pages.js";
import { Block, nameIn, Text } from "../parts/text.js";
import { Time } from "../parts/time.js";
import { html, isAnew, useLive, useMemo, useSoon, useState } from "../ui.js";

const PAGE = 200;
// What the server writes down; a word for each is in words/audit.js.
export const OPERATIONS = [
  "remember", "evolve", "memory_change", "forget", "auto_forget", "governance_delete", "purge", "deprecate",
  "restore", "fold", "folded", "observe", "session_start", "session_end", "session_commit", "summarize",
  "consolidate", "reflect", "lesson_save", "lesson_strengthen", "lesson_delete", "lesson_decay", "slot_create",
  "slot_append", "slot_replace", "slot_delete", "slot_reflect", "action_create", "action_update", "relate", "still_true",
  "address_alias", "address_move", "import", "second_brain_write", "see_all_chats", "token_create", "token_revoke",
  "key_new", "key_rotate", "key_follow", "key_trust", "key_untrust", "snapshot_delete", "snapshot_prune",
  "snapshot_restore", "snapshot_undo", "snapshot_merge", "snapshot_mend", "snapshot_salvage",
  "snapshot_discard", "vault_prune", "promote", "guard_add", "guard_remove", "guard_restore", "guard_undo",
  "crystallize", "coordination_remove", "facet_tag", "share", "signal_send", "signal_read", "lease_acquire",
  "lease_renew", "lease_release", "lease_expire", "checkpoint_create", "checkpoint_passed", "checkpoint_failed",
  "checkpoint_expire", "sentinel_create", "sentinel_triggered", "sentinel_cancelled", "sentinel_expire",
  "sketch_create", "sketch_add", "sketch_promote", "routine_create", "routine_run", "compress_file",
  "obsidian_export", "oauth_consent", "oauth_approve", "oauth_token", "oauth_refresh", "oauth_revoke",
  "oauth_code_reuse", "oauth_refresh_reuse",
];
const ROW = 58;

function Panel({ api, live, say, go, params }) {
  const operation = params.operation || "";
  const choices = useMemo(() => OPERATIONS.map((name) => [nameIn(say, "op", name), name]).sort(([a], [b]) => a.localeCompare(b, say.language)), [say]);
  const load = async (offset) => {
    const { entries, total } = await api.get("/audit", { operation, limit: PAGE, offset });
    return { rows: entries, total };
  };
  const list = usePages(load, [operation]);
  const [open, setOpen] = useState(null);
  const soon = useSoon(list.refresh, 1_000);
  useLive(live, (event) => (isAnew(event) ? list.reload() : soon()));
  return html`<header><h1>${say("audit")}</h1><span class="faint" role="status">${say("total", { count: list.total })}</span><p class="faint grow">${say("about")}</p></header>
    <div class="bar-of-controls">
      <label class="inline"><span>${say("operation")}</span>
        <select value=${operation} onChange=${(event) => go("audit", { operation: event.target.value }, { replace: true })}>
          <option value="">${say("all")}</option>
          ${choices.map(([text, name]) => html`<option key=${name} value=${name} selected=${name === operation}>${text}</option>`)}
        </select></label>
    </div>
    ${list.error && !(list.error.status === 0 && list.rows.length) && html`<${Failed} error=${list.error} say=${say} retry=${list.reload} />`}
    ${!list.error && !list.loading && !list.rows.length && html`<${Empty} title=${say("noneTitle")} text=${operation ? say("noneSuch") : say("noneText")} />`}
    ${list.rows.length > 0 && html`<div class=${`split ${open ? "open" : "alone"}`}>
      <div class="pane card">
        <${VirtualList} rows=${list.rows} total=${list.total} height=${ROW} keyOf=${(one) => one.id} label=${say("audit")} selected=${open?.id} onOpen=${setOpen} onClose=${() => setOpen(null)}
          onEnd=${list.more} row=${(one) => html`<${Row} one=${one} say=${say} />`} />
      </div>
      ${open && html`<${Entry} ...${{ one: open, say, go, close: () => setOpen(null) }} />`}
    </div>`}`;
}

function Row({ one, say }) {
  return html`<div class="line"><b>${nameIn(say, "op", one.operation)}</b><bdi class="grow faint code">${one.targetIds.join(", ")}</bdi></div>
    <div class="line faint"><${Time} value=${one.timestamp} say=${say} /><bdi class="grow">${[callerName(one.caller, say), one.agentId].filter(Boolean).join(" · ")}</bdi></div>`;
}

const callerName = (caller, say) => (caller === "local" ? say("local") : caller);

function Entry({ one, say, go, close }) {
  return html`<article class="pane card reading" aria-label=${one.operation}>
    <div class="bar-of-controls"><h2 class="grow">${nameIn(say, "op", one.operation)}</h2>
      <button type="button" class="quiet" aria-label=${say("close")} onClick=${close}>✕</button></div>
    <dl class="facts">
      <dt>${say("when")}</dt><dd><${Time} value=${one.timestamp} say=${say} exact=${true} /></dd>
      <dt>${say("operation")}</dt><dd><${Text} value=${one.operation} kind="code" /></dd>
      <dt>${say("caller")}</dt><dd><${Text} value=${callerName(one.caller, say)} /></dd>
      ${one.agentId && html`<dt>${say("agent")}</dt><dd><${Text} value=${one.agentId} /></dd>`}
      <dt>${say("entry")}</dt><dd><${Text} value=${one.id} kind="code" /></dd>
    </dl>
    ${one.targetIds.length > 0 && html`<div><h3>${say("targets")}</h3><ul class="plain">
      ${one.targetIds.map((id) => html`<li key=${id}>${id.startsWith("mem_")
        ? html`<button type="button" class="tag" onClick=${() => go("memories", { id })}>${id}</button>`
        : html`<${Text} value=${id} kind="code" />`}</li>`)}
    </ul></div>`}
    ${Object.keys(one.details || {}).length > 0 && html`<div><h3>${say("details")}</h3><${Block} value=${one.details} code=${true} label=${say("details")} /></div>`}
  </article>`;
}

export default { name: "audit", Panel };
