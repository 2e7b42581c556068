// Where blocks are: in a message, a modal or Home. Interactions are sent to the app.

import { act } from "../api.js";
import { ask } from "../dialogs.js";
import { change, remembered } from "../state.js";

export const inMessage = (message) => ({
  key: `m ${message.channel} ${message.ts}`,
  place: { channel: message.channel, ts: message.ts },
  view: null,
});

export const inView = (view) => ({
  key: `v ${view.id}`,
  place: { view_id: view.id },
  view,
});

export const elementKey = (surface, block, element) => `${surface.key} ${block.block_id} ${element.action_id}`;

/** Send an interaction once, marked busy meanwhile. Resolves to whether it was sent. */
async function tell(surface, block, element, verb, more) {
  const widget = remembered(elementKey(surface, block, element));
  if (widget.isBusy || (element.confirm && !(await ask(element.confirm)))) return false;
  widget.isBusy = true;
  change();
  const what = { ...surface.place, block_id: block.block_id, action_id: element.action_id, ...more };
  const answer = await act(verb, what);
  widget.isBusy = false;
  change();
  return answer.ok;
}

export const press = (surface, block, element, more = {}) => tell(surface, block, element, "click", more);

export const choose = (surface, block, element, value) => tell(surface, block, element, "select", { value });

export const isBusy = (surface, block, element) => Boolean(remembered(elementKey(surface, block, element)).isBusy);

/** The app's options for the typed text. */
export async function suggestions(surface, block, element, typed) {
  const what = { ...surface.place, block_id: block.block_id, action_id: element.action_id, typed };
  const answer = await act("suggest", what, { isQuiet: true });
  return answer.ok ? answer.options : null;
}
