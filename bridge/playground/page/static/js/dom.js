// A tiny virtual DOM: the page is drawn from its state, and elements are reused, so that focus, selection, scroll
// position and half-typed text survive.

const drawn = new WeakMap(); // element → the description it was last drawn from
const SVG = "http://www.w3.org/2000/svg";

/** Describe an element. `key` identifies it among siblings; `html`, which must be sanitized, replaces children. */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: flat(children), space: null };
}

/** Describe an SVG element. */
export function svg(tag, props, ...children) {
  return { ...h(tag, props, ...children), space: SVG };
}

/** Make a container's children match `described`. */
export function draw(container, ...described) {
  arrange(container, flat(described));
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "")
    .map((child) => (typeof child === "object" ? child : String(child)));
}

function arrange(parent, children) {
  const found = match(parent, children);
  for (const node of [...parent.childNodes]) if (!found.includes(node)) drop(node);
  let next = parent.firstChild;
  children.forEach((child, index) => {
    const node = found[index] ?? make(child);
    if (node === next) next = node.nextSibling;
    else parent.insertBefore(node, next);
    if (typeof child === "object") redraw(node, child);
    else if (node.data !== child) node.data = child;
  });
}

/** Find the existing node for each child; one with a key only by its key. */
function match(parent, children) {
  const keyed = new Map();
  const loose = new Map();
  for (const node of parent.childNodes) {
    const was = drawn.get(node);
    if (was?.props.key !== undefined) keyed.set(identity(was), node);
    else loose.set(kind(node), [...(loose.get(kind(node)) ?? []), node]);
  }
  return children.map((child) => {
    if (typeof child === "string") return loose.get("#text")?.shift();
    return child.props.key === undefined ? loose.get(child.tag)?.shift() : take(keyed, identity(child));
  });
}

/** Use each node once, even if two siblings share a key by mistake. */
function take(nodes, name) {
  const node = nodes.get(name);
  nodes.delete(name);
  return node;
}

const identity = (described) => `${described.tag} ${described.props.key}`;
const kind = (node) => (node.nodeType === Node.TEXT_NODE ? "#text" : node.localName);

function make(child) {
  if (typeof child === "string") return document.createTextNode(child);
  return child.space ? document.createElementNS(child.space, child.tag) : document.createElement(child.tag);
}

function drop(node) {
  const removed = drawn.get(node)?.props.removed;
  node.remove();
  removed?.(node);
}

function redraw(element, described) {
  const was = drawn.get(element);
  drawn.set(element, described);
  if (was?.props.html !== undefined && described.props.html === undefined) element.textContent = "";
  if (described.props.html === undefined) arrange(element, described.children);
  // After the children: a <select> needs its options before its value.
  for (const name of Object.keys(was?.props ?? {})) if (!(name in described.props)) set(element, name, undefined);
  for (const [name, value] of Object.entries(described.props)) {
    if (!was || was.props[name] !== value) set(element, name, value, was?.props[name]);
  }
  if (!was) described.props.mounted?.(element);
  if (described.props.drawn) queueMicrotask(() => described.props.drawn(element)); // after the whole page
}

const NOT_ATTRIBUTES = new Set(["key", "mounted", "drawn", "removed"]);
const PROPERTIES = new Set(["value", "checked", "indeterminate", "disabled", "selected", "open"]);

function set(element, name, value, before) {
  if (NOT_ATTRIBUTES.has(name)) return;
  if (name === "html" && value === undefined) return;
  if (name === "html") element.innerHTML = value;
  else if (name.startsWith("on")) element[name] = value ? handler(value) : null;
  else if (name === "style") Object.entries(value ?? {}).forEach(([property, to]) => element.style.setProperty(property, to));
  else if (PROPERTIES.has(name)) setProperty(element, name, value, before);
  else if (value === undefined || value === null || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : value);
}

/** Drop a handler's return value: `false` would cancel the event, so that nobody could type below an `onkeydown`. */
const handler = (handle) => (event) => void handle(event);

/** Keep what a person entered until the description changes. */
function setProperty(element, name, value, before) {
  if (name === "value" && value === undefined && before === undefined) return;
  element[name] = value ?? (name === "value" ? "" : false);
}
