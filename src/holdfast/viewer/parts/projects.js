// The projects there are, offered where one is asked for: nobody has to know how they are spelt.
import { html, useId, useLoad, useMemo } from "../ui.js";
import { textOf } from "./text.js";

const SESSIONS = 500; // the newest; whoever looks for an older project types it

// Of the newest sessions, and of the rows that are shown.
export function useProjects(api, rows = []) {
  const { data } = useLoad(() => api.get("/sessions", { limit: SESSIONS }), [api]);
  return useMemo(() => {
    const named = [...(data ? data.sessions : []), ...rows].map((one) => textOf((one.observation || one).project));
    return [...new Set(named.filter(Boolean))].sort();
  }, [data, rows]);
}

// A field for a project. What else a field needs is given as it is.
export function ProjectField({ projects, ...given }) {
  const id = useId();
  return html`<input ...${given} list=${id} autocomplete="off" />
    <datalist id=${id}>${projects.map((name) => html`<option key=${name} value=${name}></option>`)}</datalist>`;
}
