"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const [bar, filter, failed, talk, count] = ["bar", "filter", "failed", "talk", "count"].map(byId);
  const topLevel = ":is(main, main > section) > article";
  const items = [...document.querySelectorAll(topLevel)];
  const sections = [...document.querySelectorAll("main > section")];
  const prompts = items.filter((item) => item.id.startsWith("p"));
  const itemPixels = 64;
  const conversation = [".person", ".answer", ".caller"].join();
  // Unfolding everything that contains a common word would be slow and of no use.
  const maxUnfolded = 50;
  let unfolded = [];
  const apply = () => {
    const words = filter.value.toLowerCase();
    for (const details of unfolded) details.open = false;
    unfolded = [];
    let shown = 0;
    for (const item of items) {
      const fits =
        (!failed || !failed.checked || item.matches(".failed") || item.querySelector(".failed") !== null) &&
        (!talk || !talk.checked || item.matches(conversation)) &&
        (words === "" || item.textContent.toLowerCase().includes(words));
      item.hidden = !fits;
      if (!fits) continue;
      shown += 1;
      if (words === "") continue;
      for (const details of item.querySelectorAll("details:not([open])")) {
        if (unfolded.length === maxUnfolded) break;
        if (!details.textContent.toLowerCase().includes(words)) continue;
        details.open = true;
        unfolded.push(details);
      }
    }
    for (const section of sections) {
      const left = [...section.children].filter((item) => !item.hidden).length;
      section.hidden = left === 0;
      // What was measured before is the height of other items.
      section.style.containIntrinsicBlockSize = left === section.children.length ? "" : left * itemPixels + "px";
    }
    count.textContent = shown + " of " + items.length;
  };
  let timer = 0;
  filter.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 150);
  });
  for (const box of [failed, talk]) if (box) box.addEventListener("change", apply);
  // The item at the top of the window. Only what is in sight has a place, so items are compared by their order.
  const current = () => {
    const x = items[0].parentElement.getBoundingClientRect().left + 24;
    for (let y = bar.offsetHeight + 20; y < window.innerHeight; y += 8) {
      const item = document.elementFromPoint(x, y)?.closest(topLevel);
      if (item) return item;
    }
    return null;
  };
  // The prompt before or after it.
  const go = (step) => {
    const here = items.length > 0 ? current() : null;
    const order = (prompt) => (prompt === here ? 0 : here.compareDocumentPosition(prompt) & Node.DOCUMENT_POSITION_FOLLOWING ? 1 : -1);
    const isAbove = here !== null && here.getBoundingClientRect().top < 0;
    const wanted = (prompt) => !prompt.hidden && (here === null || order(prompt) === step || (isAbove && step < 0 && prompt === here));
    const prompt = step > 0 ? prompts.find(wanted) : prompts.findLast(wanted);
    if (prompt) prompt.scrollIntoView();
  };
  for (const [id, step] of [["previous", -1], ["next", 1]]) {
    const button = byId(id);
    if (button) button.addEventListener("click", () => go(step));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target === filter) filter.blur();
    if (event.target instanceof HTMLInputElement) return;
    if (event.key === "/") {
      event.preventDefault();
      filter.focus();
    }
    if (event.key === "j") go(1);
    if (event.key === "k") go(-1);
  });
  bar.hidden = false;
  apply();
})();
