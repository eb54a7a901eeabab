"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const [bar, filter, failed, talk, count] = ["bar", "filter", "failed", "talk", "count"].map(byId);
  const items = [...document.querySelectorAll("main > article")];
  const prompts = [...document.querySelectorAll("main > article[id^=p]")];
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
    count.textContent = shown + " of " + items.length;
  };
  let timer = 0;
  filter.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 150);
  });
  for (const box of [failed, talk]) if (box) box.addEventListener("change", apply);
  // The prompt before or after what is at the top of the window.
  const go = (step) => {
    const top = bar.offsetHeight + 16;
    const places = prompts.filter((prompt) => !prompt.hidden).map((prompt) => [prompt, prompt.getBoundingClientRect().top - top]);
    const place = step > 0 ? places.find(([, y]) => y > 4) : places.findLast(([, y]) => y < -4);
    if (place) place[0].scrollIntoView();
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
