(() => {
  "use strict";
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  root.classList.add("js");
  const blocks = () => Array.from(document.querySelectorAll("main>article,main>.divider"));
  const reveal = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };
  const go = (element) => {
    if (!element) return;
    document.querySelectorAll(".here").forEach((old) => old.classList.remove("here"));
    element.classList.add("here");
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "start" });
  };
  const step = (list, by) => {
    const line = parseFloat(getComputedStyle(root).scrollPaddingTop) || 0;
    const tops = list.map((element) => element.getBoundingClientRect().top - line);
    const next = by > 0 ? tops.findIndex((top) => top > 4) : tops.findLastIndex((top) => top < -4);
    go(list[next]);
  };

  // Search: entries that hold the words; folds open where the words are.
  const box = $("search");
  const said = $("found");
  let hits = [];
  let at = -1;
  let last = "";
  const paint = (element, words) => {
    if (!window.Highlight || !CSS.highlights) return;
    const ranges = [];
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && ranges.length < 500; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      for (let from = text.indexOf(words); from >= 0 && ranges.length < 500; from = text.indexOf(words, from + words.length)) {
        const range = new Range();
        range.setStart(node, from);
        range.setEnd(node, Math.min(from + words.length, node.data.length));
        ranges.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
    return ranges[0];
  };
  const find = () => {
    last = box.value.trim().toLowerCase();
    hits = last ? blocks().filter((element) => element.textContent.toLowerCase().includes(last)) : [];
    at = -1;
    if (window.CSS && CSS.highlights) CSS.highlights.delete("found");
    said.value = last ? (hits.length === 1 ? "1 entry" : hits.length + " entries") : "";
  };
  let wait;
  const jump = (by) => {
    clearTimeout(wait);
    if (box.value.trim().toLowerCase() !== last) find();
    if (!hits.length) return;
    at = (at + by + hits.length) % hits.length;
    const first = paint(hits[at], last);
    hits[at].scrollIntoView({ block: "start", behavior: "instant" });
    if (first) {
      reveal(first.startContainer.parentElement);
      // The words themselves, which may stand far down in a long block.
      scrollBy({ top: first.getBoundingClientRect().top - innerHeight / 3, behavior: "instant" });
    }
    said.value = at + 1 + " of " + hits.length;
  };
  box.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(find, 180);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      jump(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      box.value = "";
      find();
      box.blur();
    }
  });

  const press = (button, on) => button.setAttribute("aria-pressed", String(on));
  const tools = () => press($("tools"), root.classList.toggle("no-tools"));
  const folds = (open) => {
    document.querySelectorAll("main details").forEach((fold) => (fold.open = open));
    press($("folds"), open);
  };
  const theme = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  };
  $("tools").addEventListener("click", tools);
  $("folds").addEventListener("click", () => folds($("folds").getAttribute("aria-pressed") !== "true"));
  $("theme").addEventListener("click", theme);
  $("help").addEventListener("click", () => $("keys").showModal());

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const act = {
      "/": () => box.focus(),
      j: () => step(blocks(), 1),
      k: () => step(blocks(), -1),
      u: () => step(Array.from(document.querySelectorAll("main>.user")), 1),
      U: () => step(Array.from(document.querySelectorAll("main>.user")), -1),
      n: () => jump(1),
      N: () => jump(-1),
      t: tools,
      f: () => folds($("folds").getAttribute("aria-pressed") !== "true"),
      d: theme,
      "?": () => $("keys").showModal(),
    }[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });

  // Deep links lead to what is folded too.
  const arrive = () => {
    const target = location.hash && $(decodeURIComponent(location.hash.slice(1)));
    if (target) {
      reveal(target);
      // Of a divider it is the summary that is meant.
      const fold = target.querySelector(":scope>details");
      if (fold && target.classList.contains("divider")) fold.open = true;
      target.scrollIntoView({ block: "start" });
    }
  };
  addEventListener("hashchange", arrive);
  arrive();

  // The contents follow what is read: the first of their entries that is in sight, or the last one that was.
  const nav = document.querySelector("nav");
  const links = new Map(Array.from(nav.querySelectorAll("a")).map((link) => [link.getAttribute("href").slice(1), link]));
  const follow = (link) => {
    // In a branch that is shut its name stands for it.
    const shut = link.closest("details:not([open])");
    const line = shut ? shut.querySelector("summary") : link;
    nav.querySelectorAll("[aria-current]").forEach((old) => old.removeAttribute("aria-current"));
    line.setAttribute("aria-current", "true");
    // Not with scrollIntoView: the next Tab would start from there.
    const [all, one] = [nav.getBoundingClientRect(), line.getBoundingClientRect()];
    if (one.top < all.top || one.bottom > all.bottom) nav.scrollTop += one.top - all.top - all.height / 3;
  };
  if (window.IntersectionObserver) {
    const order = Array.from(links.keys());
    const places = new Map(order.map((id, place) => [id, place]));
    const inside = new Set();
    const seen = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) inside[isIntersecting ? "add" : "delete"](places.get(target.id));
        if (inside.size) follow(links.get(order[Math.min(...inside)]));
      },
      { rootMargin: "-64px 0px -70% 0px" },
    );
    links.forEach((_, id) => $(id) && seen.observe($(id)));
  }

  // Paper has no folds.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("main details:not([open])"));
    closed.forEach((fold) => (fold.open = true));
  });
  addEventListener("afterprint", () => closed.forEach((fold) => (fold.open = false)));
})();
