// Completions while typing: commands and their arguments, people, channels, emoji. Pure.

const MOST = 8;

/** Completions at the caret: {from, items: [{insert, label, hint}], isExact, heading}, or null. */
export function completionsFor(text, caret, world, emoji, { inThread = false } = {}) {
  const before = text.slice(0, caret);
  if (/^\/\S*$/.test(before)) return inThread ? noCommands() : commands(before, world);
  if (/^\/\S+\s/.test(before)) return inThread ? null : usages(before, world);
  const [, sign, word] = /(?:^|[\s(])([@#:])([\p{L}\p{N}._+-]*)$/u.exec(before) ?? [];
  if (!sign) return null;
  const from = before.length - word.length - 1;
  const items = { "@": people, "#": channels, ":": symbols }[sign](word.toLowerCase(), world, emoji).slice(0, MOST);
  const isExact = items.some((item) => item.insert.trim().toLowerCase() === `${sign}${word}`.toLowerCase());
  return items.length ? { from, items, isExact, heading: { "@": "People and apps", "#": "Channels", ":": "Emoji" }[sign] } : null;
}

const noCommands = () => ({ from: 0, items: [], isExact: true, heading: "Slash commands don't work in threads. Use ! instead, as in !workflows." });

function commands(typed, world) {
  const items = world.commands.filter(({ command }) => command.startsWith(typed.toLowerCase()));
  return {
    from: 0,
    heading: items.length ? "Commands" : "No such command",
    isExact: !items.length || items.some(({ command }) => command === typed),
    items: items.map(({ command, usage_hint: usage, description }) => ({ insert: `${command} `, label: command, more: usage, hint: description })),
  };
}

/** A command's arguments, from its usage hint: "list [words] | answers <mentions|all> | help". */
function usages(typed, world) {
  const [, name, rest] = /^(\/\S+)\s+(.*)$/s.exec(typed);
  const command = world.commands.find((one) => one.command === name);
  if (!command?.usage_hint) return null;
  const ways = command.usage_hint.split(/\|(?![^<]*>)/).map((way) => way.trim());
  const fitting = ways.filter((way) => fits(way, rest));
  return {
    from: typed.length - rest.length,
    heading: `${name} ${fitting.length === 1 ? fitting[0] : ""}`,
    isExact: true, // Enter runs the text as it is; Tab or the arrows choose
    items: fitting.filter((way) => literal(way) && !rest.startsWith(literal(way))).map((way) => ({ insert: `${literal(way)} `, label: way, hint: "" })),
  };
}

/** Whether the typed text is, or can become, this usage. */
function fits(way, rest) {
  const words = literal(way);
  return words.startsWith(rest.trim()) || (words !== "" && rest.startsWith(words));
}

const literal = (way) => way.split(/\s*[<[]/)[0].trim();

function people(word, world) {
  const fitting = world.people.filter((one) => one.name.toLowerCase().startsWith(word) || one.real_name.toLowerCase().split(" ").some((part) => part.startsWith(word)));
  return fitting.sort((a, b) => b.is_bot - a.is_bot).map((one) => ({ insert: `@${one.name} `, label: one.real_name, hint: `@${one.name}${one.is_bot ? " · app" : ""}` }));
}

const channels = (word, world) =>
  world.channels.filter((one) => one.kind !== "im" && one.kind !== "mpim" && one.name.startsWith(word)).map((one) => ({ insert: `#${one.name} `, label: `#${one.name}`, hint: "" }));

/** From the second letter: ":)" and "10:30" aren't searches. */
const symbols = (word, world, emoji) =>
  word.length < 2 ? [] : emoji.filter(([name]) => name.includes(word)).map(([name, sign]) => ({ insert: `${sign} `, label: `${sign}  ${name}`, hint: "" }));
