// What a live event is about, in one row: {kind, id, title, project, at, panel, params}; null for what nobody lists.
export function activityOf(event) {
  const data = event.data || {};
  const record = data[event.type] || data.observation || {};
  const about = { id: record.id || event.place, project: record.project || "", agent: record.agentId || "", at: new Date().toISOString() };
  switch (event.type) {
    case "memory":
      return { ...about, kind: "memory", title: record.title, panel: "memories", params: { id: record.id } };
    case "compressed_observation":
      return { ...about, kind: "observation", title: record.title, panel: "sessions", params: { id: event.sessionId } };
    case "session":
      return { ...about, kind: "session", title: record.title || record.id, panel: "sessions", params: { id: record.id } };
    case "commit":
      return { ...about, kind: "commit", title: record.message || record.sha, panel: "sessions", params: { id: (record.sessionIds || [])[0] } };
    case "lesson":
      return { ...about, kind: "lesson", title: record.content, panel: "lessons", params: {} };
    case "slot":
      return { ...about, kind: "slot", title: record.label, panel: "slots", params: {} };
    case "action":
      return { ...about, kind: "action", title: record.title, panel: "actions", params: {} };
    case "summary":
      return { ...about, kind: "summary", title: record.title, panel: "sessions", params: { id: record.sessionId } };
    case "forgotten":
      return { ...about, id: event.place, kind: "forgotten", title: "", count: (record.ids || []).length, panel: "audit", params: {} };
    case "lesson_decay":
      return { ...about, id: event.place, kind: "lesson_decay", title: "", count: record.lessons, panel: "lessons", params: {} };
    default:
      if (!event.type.startsWith("snapshot_")) return null;
      return { ...about, id: event.place, kind: event.type, title: record.label || "", panel: "snapshots", params: { id: record.id } };
  }
}
