// The documentation's search: results while typing. Without this script, Enter does the same.

const PAUSE = 150; // ms

const form = document.querySelector("form[role=search]");
const field = form.querySelector("input");
const page = new URL(location).searchParams.has("q") ? form.action : location.href;
let typing;
let request = new AbortController();

/** Show the results, or the page again once the field is empty. */
async function search() {
  const asked = field.value.trim();
  const address = asked ? `${form.action}?${new URLSearchParams({ q: asked })}` : page;
  request.abort();
  const { signal } = (request = new AbortController());
  try {
    const answer = await fetch(address, { signal });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.querySelector("main").replaceWith(found.querySelector("main"));
    document.title = found.title;
    if (location.href !== address) history[location.href === page ? "pushState" : "replaceState"](null, "", address);
  } catch {
    // a newer search replaced this one, or the playground has stopped
  }
}

field.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(search, PAUSE);
});
addEventListener("popstate", () => location.reload());
