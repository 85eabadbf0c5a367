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
    const line = 80;
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
  const jump = (by) => {
    if (box.value.trim().toLowerCase() !== last) find();
    if (!hits.length) return;
    at = (at + by + hits.length) % hits.length;
    const first = paint(hits[at], last);
    hits[at].scrollIntoView({ block: "start" });
    if (first) {
      reveal(first.startContainer.parentElement);
      first.startContainer.parentElement.scrollIntoView({ block: "center" });
    }
    said.value = at + 1 + " of " + hits.length;
  };
  let wait;
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
      target.scrollIntoView({ block: "start" });
    }
  };
  addEventListener("hashchange", arrive);
  arrive();

  // The contents follow what is read.
  const links = new Map(Array.from(document.querySelectorAll("nav a")).map((link) => [link.getAttribute("href").slice(1), link]));
  if (window.IntersectionObserver) {
    const seen = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          if (!entry.isIntersecting) continue;
          const link = links.get(entry.target.id);
          document.querySelectorAll("nav a[aria-current]").forEach((old) => old.removeAttribute("aria-current"));
          link.setAttribute("aria-current", "true");
          link.scrollIntoView({ block: "nearest" });
        }
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
