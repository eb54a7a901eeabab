"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const [bar, filter, failed, talk, count, project, harness, scope] = ["bar", "filter", "failed", "talk", "count", "project", "harness", "scope"].map(byId);
  const topLevel = ":is(main, main > section) > article";
  const items = [...document.querySelectorAll(topLevel)];
  const sections = [...document.querySelectorAll("main > section")];
  const prompts = items.filter((item) => item.matches(".person"));
  const isIndex = document.querySelector("main.sessions") !== null;
  const itemPixels = 64;
  const conversation = [".person", ".answer", ".caller"].join();
  // Unfolding everything that contains a common word would be slow and of no use.
  const maxUnfolded = 50;
  const maxMarks = 1000;
  let unfolded = [];
  let marks = [];
  let nextMark = 0;
  // On the index each word may stand anywhere; on a page they are a phrase.
  const wanted = () => {
    const words = filter.value.toLowerCase();
    return isIndex ? words.split(/\s+/).filter((word) => word !== "") : words === "" ? [] : [words];
  };
  // The places of a word in an item, also where it stands in several elements.
  const places = (item, word) => {
    const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
    const nodes = [];
    const starts = [];
    let text = "";
    while (walker.nextNode()) {
      nodes.push(walker.currentNode);
      starts.push(text.length);
      text += walker.currentNode.data;
    }
    const lower = text.toLowerCase();
    if (lower.length !== text.length) return;
    let node = 0;
    const point = (at) => {
      while (node + 1 < nodes.length && starts[node + 1] <= at) node += 1;
      return [nodes[node], at - starts[node]];
    };
    for (let at = lower.indexOf(word); at >= 0 && marks.length < maxMarks; at = lower.indexOf(word, at + word.length)) {
      const range = new Range();
      range.setStart(...point(at));
      const [last, end] = point(at + word.length - 1);
      range.setEnd(last, end + 1);
      marks.push(range);
    }
  };
  const mark = (words) => {
    marks = [];
    nextMark = 0;
    for (const item of items) {
      if (marks.length >= maxMarks) break;
      if (!item.hidden) for (const word of words) places(item, word);
    }
    if (!CSS.highlights) return;
    CSS.highlights.delete("hit");
    if (marks.length > 0) CSS.highlights.set("hit", new Highlight(...marks));
  };
  // What the sessions that are shown come to.
  const sums = () => {
    const sum = [0, 0, 0, 0];
    let signs = "";
    for (const item of items) {
      if (item.hidden) continue;
      item.dataset.sums.split(" ").forEach((part, at) => (sum[at] += Number(part)));
      signs += item.dataset.signs;
    }
    const more = signs.includes("+") ? "+" : "";
    const [prompts, calls, tokens] = sum.map((part) => Math.round(part).toLocaleString("en"));
    const usd = (signs.includes("~") ? ", ~" : ", ") + sum[3].toFixed(2) + more + " USD";
    return prompts + " prompts, " + calls + " calls, " + tokens + more + " tokens" + (sum[3] > 0 ? usd : "");
  };
  const apply = () => {
    const words = wanted();
    for (const details of unfolded) details.open = false;
    unfolded = [];
    let shown = 0;
    const has = (element) => {
      const text = element.textContent.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    for (const item of items) {
      const fits =
        (!failed || !failed.checked || item.matches(".failed") || item.querySelector(".failed") !== null) &&
        (!talk || !talk.checked || item.matches(conversation)) &&
        (!project || project.value === "" || item.dataset.project === project.value) &&
        (!harness || harness.value === "" || item.dataset.harness === harness.value) &&
        has(item);
      item.hidden = !fits;
      if (!fits) continue;
      shown += 1;
      if (words.length === 0) continue;
      for (const details of item.querySelectorAll("details:not([open])")) {
        if (unfolded.length === maxUnfolded) break;
        if (!has(details)) continue;
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
    const isPart = isIndex && shown < items.length;
    count.textContent = shown + " of " + items.length + (isPart ? " pages: " + sums() : "");
    if (scope) scope.hidden = !isPart;
    mark(words);
  };
  let timer = 0;
  filter.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 150);
  });
  for (const box of [failed, talk, project, harness]) if (box) box.addEventListener("change", apply);
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
  const goToMark = () => {
    if (marks.length === 0) return;
    marks[nextMark % marks.length].startContainer.parentElement.scrollIntoView({ block: "center" });
    nextMark += 1;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target === filter) filter.blur();
    if (event.key === "Enter" && event.target === filter) goToMark();
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
    if (event.key === "/") {
      event.preventDefault();
      filter.focus();
    }
    if (event.key === "j") go(1);
    if (event.key === "k") go(-1);
  });
  // An event may be inside of what is folded.
  const reveal = () => {
    const target = byId(location.hash.slice(1));
    if (target === null) return;
    const article = target.closest("article");
    const own = article?.querySelector(":scope > details");
    for (let details = own ?? target.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
    (article ?? target).scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  // What a search on the index was for is searched on the page, too.
  if (isIndex) {
    document.addEventListener("click", (event) => {
      const link = event.target.closest("h2 a");
      const words = wanted();
      if (link) link.hash = words.length === 0 ? "" : "q=" + encodeURIComponent(words[0]);
    });
  }
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const details of folded) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
    folded = [];
  });
  const asked = new URLSearchParams(location.hash.slice(1)).get("q");
  if (asked !== null) filter.value = asked;
  bar.hidden = false;
  apply();
  reveal();
})();
