// The app's topmost modal.

import { act } from "./api.js";
import { isComplete, showFirstProblem } from "./blocks/fields.js";
import { blocks } from "./blocks/index.js";
import { inView } from "./blocks/surface.js";
import { words } from "./blocks/text.js";
import { valuesOf } from "./blocks/values.js";
import { dialogForm, problem } from "./dialogs.js";
import { h } from "./dom.js";
import { change, forget, page, remembered } from "./state.js";

export function modal() {
  const view = page.world.views.findLast((one) => one.type === "modal");
  if (!view) return null;
  const sending = remembered(`sending ${view.id}`, { isBusy: false, error: "" });
  return dialogForm({
    key: view.id,
    testid: "modal",
    title: words(view.title),
    close: () => close(view),
    submit: () => submit(view, sending),
    content: [problem(sending.error), blocks(view.blocks, inView(view))],
    buttons: buttons(view, sending),
  });
}

function buttons(view, sending) {
  const hasInputs = view.blocks.some((block) => block.type === "input");
  return [
    h("button", { type: "button", key: "close", class: "button", onclick: () => close(view) }, view.close ? words(view.close) : "Close"),
    (view.submit || hasInputs) &&
      h(
        "button",
        { type: "submit", key: "submit", class: "button is-primary", "data-testid": "modal-submit", "aria-busy": sending.isBusy ? "true" : null },
        view.submit ? words(view.submit) : "Submit",
      ),
  ];
}

async function submit(view, sending) {
  if (sending.isBusy) return;
  const surface = inView(view);
  if (!isComplete(surface)) return undefined;
  Object.assign(sending, { isBusy: true, error: "" });
  change();
  const answer = await act("submit", { view_id: view.id, values: valuesOf(surface) }, { isQuiet: true });
  Object.assign(sending, { isBusy: false, error: answer.ok ? "" : answer.error });
  return change();
}

let shownErrors = "";

/** Focus a field that the app reports an error for. */
export function followErrors() {
  const errors = JSON.stringify(page.world.views.at(-1)?.errors ?? {});
  if (errors !== shownErrors && errors !== "{}") showFirstProblem();
  shownErrors = errors;
}

function close(view) {
  act("close", { view_id: view.id });
}

/** Forget the values entered into views that are gone. */
export function forgetClosedViews() {
  const open = new Set([...page.world.views.map((view) => view.id), page.world.home?.id]);
  for (const key of [...page.kept.keys()]) {
    const [kind, id] = key.split(" ");
    if (kind === "v" && !open.has(id)) forget(`v ${id} `);
  }
}
