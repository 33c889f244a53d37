/* "How metrics see a list": a list whose relevant items the reader moves, and the values of metrics.
   A list is an array of 0 and 1; `missed` is the number of relevant items that are not in it.
   tests/docs/test_list_page.py compares every value with rankmeter. */
"use strict";
const rmList = (() => {
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const hits = (list, k) => sum(list.slice(0, k));
  const discounted = (list) => sum(list.map((gain, n) => gain / Math.log2(n + 2)));
  const relevant = (list, missed) => sum(list) + missed;
  const ideal = (n) => Array(n).fill(1);
  const first = (list) => list.indexOf(1) + 1;
  const METRICS = {
    "precision@5": ["hits in the top 5 / 5", (list) => hits(list, 5) / 5],
    "recall@5": ["hits in the top 5 / all relevant items", (list, n) => hits(list, 5) / n],
    "hr@5": ["1 if the top 5 have a hit", (list) => Math.min(hits(list, 5), 1)],
    "rr": ["1 / rank of the first hit", (list) => (first(list) ? 1 / first(list) : 0)],
    "ap": [
      "sum of the precision at each hit / all relevant items",
      (list, n) => sum(list.map((gain, i) => (gain ? hits(list, i + 1) / (i + 1) : 0))) / n,
    ],
    "ndcg@5": [
      "sum of 1 / log2(rank + 1) of the hits in the top 5 / that of a perfect list",
      (list, n) => discounted(list.slice(0, 5)) / discounted(ideal(Math.min(n, 5))),
    ],
    "ndcg": [
      "sum of 1 / log2(rank + 1) of all hits / that of a perfect list",
      (list, n) => discounted(list) / discounted(ideal(n)),
    ],
    "r_precision": ["hits in the top R / R, with R relevant items", (list, n) => hits(list, n) / n],
  };
  const values = (list, missed) => {
    const n = relevant(list, missed);
    return Object.fromEntries(
      Object.entries(METRICS).map(([name, [, value]]) => [name, n ? value(list, n) : NaN]),
    );
  };

  const element = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };

  const start = (place) => {
    let list = [0, 1, 0, 0, 1, 0, 0, 0, 1, 0], missed = 1, before = null, held = null;
    const row = element("ol", "", { "class": "rm-play" });
    const count = element("input", "", {
      type: "number", min: 0, max: 20, value: missed, id: "rm-missed",
    });
    const table = element("table", "", { "class": "rm-values" });
    const said = element("p", "", { "class": "rm-said", "aria-live": "polite" });
    const label = element("label", "Relevant items that are not in the list: ", { "for": "rm-missed" });
    label.append(count);
    place.replaceChildren(row, label, said, table);

    const draw = (focus) => {
      const now = values(list, missed);
      row.replaceChildren(...list.map((gain, n) => {
        const item = element("li", "");
        const name = `rank ${n + 1}, ${gain ? "relevant" : "not relevant"}`;
        const button = element("button", `${n + 1}`, {
          type: "button", "aria-pressed": gain ? "true" : "false", "aria-label": name, draggable: "true",
        });
        button.addEventListener("click", () => change(list.map((g, i) => (i === n ? 1 - g : g)), n));
        button.addEventListener("keydown", (event) => {
          const to = n + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0);
          if (to === n || to < 0 || to >= list.length) return;
          event.preventDefault();
          move(n, to);
        });
        button.addEventListener("dragstart", () => { held = n; });
        item.addEventListener("dragover", (event) => event.preventDefault());
        item.addEventListener("drop", (event) => {
          event.preventDefault();
          if (held !== null) move(held, n);
          held = null;
        });
        item.append(button);
        return item;
      }));
      const head = element("tr", "");
      head.append(...["metric", "value", "change", "formula"].map((text) => element("th", text, { scope: "col" })));
      const rows = Object.entries(METRICS).map(([name, [formula]]) => {
        const line = element("tr", "");
        const change = before ? now[name] - before[name] : 0;
        const sign = Math.abs(change) < 5e-5 ? "" : `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(4)}`;
        const value = Number.isNaN(now[name]) ? "undefined" : now[name].toFixed(4);
        line.append(
          element("th", name, { scope: "row" }), element("td", value),
          element("td", sign, { "class": change > 0 ? "rm-up" : "rm-down" }), element("td", formula),
        );
        return line;
      });
      table.replaceChildren(head, ...rows);
      if (before) {
        const same = Object.keys(METRICS).filter((name) => Math.abs(now[name] - before[name]) < 5e-5);
        said.textContent = same.length
          ? `Did not see the change: ${same.join(", ")}.` : "All of these metrics saw the change.";
      } else {
        said.textContent = "Click on an item to change whether it is relevant; move it with the arrow keys, or drag it.";
      }
      if (focus !== undefined) row.children[focus].firstChild.focus();
    };
    const change = (made, focus) => {
      before = values(list, missed);
      list = made;
      draw(focus);
    };
    const move = (from, to) => {
      const made = [...list];
      made.splice(to, 0, ...made.splice(from, 1));
      change(made, to);
    };
    count.addEventListener("input", () => {
      before = values(list, missed);
      missed = Math.max(0, Math.min(20, Math.round(Number(count.value) || 0)));
      draw();
    });
    draw();
  };
  if (typeof document !== "undefined") {
    const ready = () => document.querySelectorAll(".rm-list-page").forEach(start);
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready);
    else ready();
  }
  return { values, METRICS };
})();
