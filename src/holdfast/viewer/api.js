// Requests to the memory. The token is kept in this module and in the tab's session storage, nowhere else, and leaves
// only in the Authorization header to the server this page came from.
const KEY = "holdfast.token";
const PREFIX = "/agentmemory";

export class Refused extends Error {
  constructor(status, body) {
    super(body.error || body.message || `HTTP ${status}`);
    this.status = status;
    this.code = body.code || "";
    this.hint = body.hint || "";
    this.details = body;
  }
}

export function makeApi({ onUnauthorized }) {
  let token = sessionStorage.getItem(KEY) || "";

  async function ask(method, path, { params, body } = {}) {
    const headers = { Accept: "application/json" };
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const response = await fetched(PREFIX + path + queryOf(params), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    const refused = new Refused(response.status, answer);
    if (response.status === 401) onUnauthorized(refused);
    throw refused;
  }

  return {
    get: (path, params) => ask("GET", path, { params }),
    post: (path, body) => ask("POST", path, { body: body || {} }),
    put: (path, body) => ask("PUT", path, { body: body || {} }),
    patch: (path, body) => ask("PATCH", path, { body: body || {} }),
    del: (path, body) => ask("DELETE", path, { body: body || {} }),
    // Asked before anything else, so that nobody is refused only to learn that there is a secret.
    needsSignIn: async () => Boolean((await (await fetched("/livez", { cache: "no-store", credentials: "omit" })).json()).signIn),
    token: () => token,
    signedIn: () => token !== "",
    signIn(value) {
      token = value;
      sessionStorage.setItem(KEY, value);
    },
    signOut() {
      token = "";
      sessionStorage.removeItem(KEY);
    },
  };
}

async function fetched(url, options) {
  try {
    return await fetch(url, options);
  } catch {
    throw new Refused(0, { code: "unreachable", error: "The server does not answer." });
  }
}

function queryOf(params) {
  const given = Object.entries(params || {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}
