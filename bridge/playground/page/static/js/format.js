// Formats of times, sizes and names.

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }); // as in the server's dates
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium", hourCycle: "h23" });
const HUES = 10;

export const momentOf = (ts) => new Date(Number.parseFloat(ts) * 1000);
export const clock = (ts) => CLOCK.format(momentOf(ts));
export const wholeMoment = (ts) => WHOLE.format(momentOf(ts));

export function dayOf(ts) {
  const moment = momentOf(ts);
  const days = Math.round((midnight(new Date()) - midnight(moment)) / 86_400_000);
  return { 0: "Today", 1: "Yesterday" }[days] ?? DAY.format(moment);
}

const midnight = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate()).getTime();

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
