// Where blocks stand: in a message, or in a modal or Home. What is pressed or chosen there is told to the app.

import { act } from "../api.js";
import { ask } from "../dialogs.js";
import { change, remembered } from "../state.js";

export const inMessage = (message) => ({
  key: `m ${message.channel} ${message.ts}`,
  place: { channel: message.channel, ts: message.ts },
  verbs: { click: "click", select: "select" },
  view: null,
});

export const inView = (view) => ({
  key: `v ${view.id}`,
  place: { view_id: view.id },
  verbs: { click: "click_in_view", select: "select_in_view" },
  view,
});

export const elementKey = (surface, block, element) => `${surface.key} ${block.block_id} ${element.action_id}`;

/** Tell the app once, and show meanwhile that it has been told. Gives whether it was. */
async function tell(surface, block, element, verb, more) {
  const widget = remembered(elementKey(surface, block, element));
  if (widget.isBusy || (element.confirm && !(await ask(element.confirm)))) return false;
  widget.isBusy = true;
  change();
  const what = { ...surface.place, block_id: block.block_id, action_id: element.action_id, ...more };
  const answer = await act(surface.verbs[verb], what);
  widget.isBusy = false;
  change();
  return answer.ok;
}

export const press = (surface, block, element, more = {}) => tell(surface, block, element, "click", more);

export const choose = (surface, block, element, value) => tell(surface, block, element, "select", { value });

export const isBusy = (surface, block, element) => Boolean(remembered(elementKey(surface, block, element)).isBusy);

/** What the app suggests for what was typed so far. */
export async function suggestions(surface, block, element, typed) {
  const what = { ...surface.place, block_id: block.block_id, action_id: element.action_id, typed };
  const answer = await act("suggest", what, { isQuiet: true });
  return answer.ok ? answer.options : null;
}
