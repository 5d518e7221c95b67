// Light or dark: as the system says, unless the person chose.
const KEY = "holdfast.theme";
export const THEMES = ["auto", "light", "dark"];

export function firstTheme() {
  const kept = localStorage.getItem(KEY);
  return THEMES.includes(kept) ? kept : "auto";
}

export function setTheme(theme) {
  localStorage.setItem(KEY, theme);
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
