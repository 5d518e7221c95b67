// The panels in their order. Each is panels/<name>.js with its words in words/<name>.js, loaded when first opened.
// `key` is the letter after "g"; `icon` is the path of a 24×24 drawing of lines.
export const PANELS = [
  { name: "dashboard", key: "d", icon: "M4 13h6V4H4zM14 20h6V11h-6zM4 20h6v-3H4zM14 7h6V4h-6z" },
  { name: "memories", key: "m", icon: "M6 4h9l4 4v12H6zM15 4v4h4M9 12h7M9 16h5" },
  { name: "sessions", key: "s", icon: "M4 5h16v11H9l-5 4z" },
  { name: "context", key: "c", icon: "M4 5h16v10H10l-4 4v-4H4zM8 9h8M8 12h5" },
  { name: "timeline", key: "t", icon: "M4 12h16M7 12V7M12 12v6M17 12V5" },
  { name: "replay", key: "r", icon: "M4 12a8 8 0 1 0 3-6M4 4v4h4M11 9l4 3-4 3z" },
  { name: "lessons", key: "l", icon: "M9 18h6M10 21h4M8.5 15a6 6 0 1 1 7 0c-.5.5-.5 1-.5 1.5h-6c0-.5 0-1-.5-1.5z" },
  { name: "slots", key: "o", icon: "M4 6h16M4 12h16M4 18h10" },
  { name: "actions", key: "a", icon: "M4 4h5v16H4zM10 4h5v10h-5zM16 4h4v7h-4z" },
  { name: "graph", key: "n", icon: "M6 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM18 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM10 20a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 6.5l8 1.2M7 8l2.4 8M16.8 9.8l-5.4 6.6" },
  { name: "snapshots", key: "p", icon: "M4 8h3l2-3h6l2 3h3v11H4zM12 16a3 3 0 1 0 0-6 3 3 0 0 0 0 6z" },
  { name: "audit", key: "u", icon: "M8 4h11v16H5V7zM8 4v3H5M9 11h6M9 15h6" },
];

export const panelOf = (name) => PANELS.find((panel) => panel.name === name);
