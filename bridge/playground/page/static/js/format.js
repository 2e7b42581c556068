// Formats of times, sizes and names.

import { page } from "./state.js";

const DAY = 86_400_000; // milliseconds
const HUES = 10;

let zoned = {};

/** The formatters for the person's time zone: Slack shows times in it, whatever the browser's zone is. */
function formats() {
  const timeZone = page.world?.me.tz;
  if (zoned.clock && zoned.timeZone === timeZone) return zoned;
  const format = (options) => new Intl.DateTimeFormat(undefined, { ...options, timeZone });
  zoned = {
    timeZone,
    clock: format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }), // as in the server's dates
    day: format({ weekday: "long", day: "numeric", month: "long" }),
    date: format({ dateStyle: "full" }),
    whole: format({ dateStyle: "full", timeStyle: "medium", hourCycle: "h23" }),
  };
  return zoned;
}

export const momentOf = (ts) => new Date(Number.parseFloat(ts) * 1000);
export const clock = (ts) => formats().clock.format(momentOf(ts));
export const dateOf = (ts) => formats().date.format(momentOf(ts));
export const wholeMoment = (ts) => formats().whole.format(momentOf(ts));

export function dayOf(ts) {
  const { date, day } = formats();
  const shown = dateOf(ts);
  if (shown === date.format(Date.now())) return "Today";
  return shown === date.format(Date.now() - DAY) ? "Yesterday" : day.format(momentOf(ts));
}

export function ago(ts) {
  if (!ts) return "";
  const minutes = Math.max(0, Math.floor((Date.now() - momentOf(ts)) / 60_000));
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${counted(minutes, "minute")} ago`;
  return minutes < 1440 ? `${counted(Math.floor(minutes / 60), "hour")} ago` : dayOf(ts);
}

export const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** One or two letters instead of a picture. */
export function initials(name) {
  const words = name.split(/[\s._-]+/).filter(Boolean);
  return (words.length > 1 ? words[0][0] + words.at(-1)[0] : name.slice(0, 1)).toUpperCase();
}

/** A stable color for a person. */
export function hue(id) {
  let sum = 0;
  for (const character of id) sum = (sum * 31 + character.codePointAt(0)) % 9973;
  return `hue-${sum % HUES}`;
}
