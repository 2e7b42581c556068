// The theme chosen with "Dark mode". The page loads this module before its first paint.

import { storage } from "./storage.js";

const KEY = "playground-theme";
const root = document.documentElement;

export function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  root.dataset.theme = theme;
  storage()?.setItem(KEY, theme);
}

export function isDark() {
  return (root.dataset.theme ?? systemTheme()) === "dark";
}

const systemTheme = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

const chosen = storage()?.getItem(KEY);
if (chosen) root.dataset.theme = chosen;
