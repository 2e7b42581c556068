// The app's Home tab.

import { blocks } from "./blocks/index.js";
import { inView } from "./blocks/surface.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { page } from "./state.js";

export function home() {
  const view = page.world.home;
  return h(
    "div",
    { class: "home", key: "home", role: "tabpanel", "aria-labelledby": "tab-home", "data-testid": "home", tabindex: 0 },
    view ? h("div", { class: "home-page", key: view.id }, blocks(view.blocks, inView(view))) : nothing(),
  );
}

const nothing = () =>
  h("div", { class: "nothing" }, icon("home"), h("p", {}, "The app hasn't published a Home tab for you yet."));
