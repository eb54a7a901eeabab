"use strict";
(() => {
  const [bar, filter, failed, talk, count] = ["bar", "filter", "failed", "talk", "count"].map((id) => document.getElementById(id));
  const items = [...document.querySelectorAll("main > article")];
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
        (!failed.checked || item.matches(".failed") || item.querySelector(".failed") !== null) &&
        (!talk.checked || item.matches(conversation)) &&
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
  failed.addEventListener("change", apply);
  talk.addEventListener("change", apply);
  bar.hidden = false;
  apply();
})();
