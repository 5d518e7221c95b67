// The hash is the address: #/panel?key=value.
export function routeOf(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  return { name: path || "dashboard", params: Object.fromEntries(new URLSearchParams(query || "")) };
}

export function hashOf(name, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return `#/${name}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}
