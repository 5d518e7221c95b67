// The panels in their order. Each is panels/<name>.js with its words in words/<name>.js, loaded when first opened.
// `key` is the letter after "g"; `icon` is the path of a 24×24 drawing of lines.
export const PANELS = [
  { name: "dashboard", key: "d", icon: "M4 13h6V4H4zM14 20h6V11h-6zM4 20h6v-3H4zM14 7h6V4h-6z" },
  { name: "memories", key: "m", icon: "M6 4h9l4 4v12H6zM15 4v4h4M9 12h7M9 16h5" },
  { name: "sessions", key: "s", icon: "M4 5h16v11H9l-5 4z" },
];

export const panelOf = (name) => PANELS.find((panel) => panel.name === name);
