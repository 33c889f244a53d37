"use strict";
// What paper cannot do: sort a table, copy it, save it. Everything is readable without it.
const page = (() => {
  const made = (name, text, parent) => {
    const one = parent.appendChild(document.createElement(name));
    one.textContent = text;
    return one;
  };
  const said = made("p", "", document.body);
  said.className = "said";
  said.setAttribute("role", "status");

  // Numbers as programs read them: 1234 and -0.5 for 1,234 and −0.5.
  const value = (cell) => {
    const text = cell.dataset.value ?? cell.innerText.trim();
    return /^[+−-]?[\d,]+(\.\d+)?$/.test(text) ? text.replaceAll(",", "").replace("−", "-") : text;
  };
  const number = (cell) => {
    const found = value(cell).replace("−", "-").match(/-?\d+(\.\d+)?(e-?\d+)?/);
    return found ? Number(found[0]) : NaN;
  };

  function sort(table, column, up) {
    const sign = up ? 1 : -1;
    for (const body of table.tBodies) {
      const inner = [...body.rows].filter((row) => row.cells.length > 1);
      inner.sort((one, other) => {
        const [a, b] = [one.cells[column], other.cells[column]];
        if (column === 0) return sign * a.innerText.localeCompare(b.innerText, undefined, { numeric: true });
        const [x, y] = [number(a), number(b)];
        return Number.isNaN(x) - Number.isNaN(y) || sign * (x - y) || 0;
      });
      body.append(...inner);
    }
  }

  // The rows as text: a mean has two more columns for its interval.
  function rowsOf(table) {
    const heads = [...table.tHead.rows[0].cells];
    const ranged = heads.map((_, i) => [...table.querySelectorAll("tbody tr")].some((row) => row.cells[i]?.dataset.low));
    const grouped = table.querySelector(".group") !== null;
    const rows = [[...(grouped ? ["group"] : []), ...heads.flatMap((one, i) => {
      const name = one.innerText.trim();
      return ranged[i] ? [name, `${name} low`, `${name} high`] : [name];
    })]];
    for (const body of table.tBodies) {
      const group = body.querySelector(".group")?.innerText ?? "";
      for (const row of body.rows) {
        if (row.cells.length < 2) continue;
        rows.push([...(grouped ? [group] : []), ...[...row.cells].flatMap((one, i) =>
          ranged[i] ? [value(one), one.dataset.low ?? "", one.dataset.high ?? ""] : [value(one)])]);
      }
    }
    return rows;
  }

  // A name that a spreadsheet would take for a formula gets an apostrophe in front.
  const tame = (text) => (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  async function copy(table) {
    const text = rowsOf(table).map((row) => row.map((one) => one.replace(/[\t\n]+/g, " ")).join("\t")).join("\n");
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = made("textarea", text, document.body);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    said.textContent = "The table is copied.";
  }

  function saveFile(title, ending, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${title.trim().replace(/[^\p{L}\p{N}@]+/gu, "-")}.${ending}`;
    link.click();
    URL.revokeObjectURL(link.href);
    said.textContent = `${link.download} is saved.`;
  }

  function saveRows(title, rows) {
    const text = rows.map((row) => row.map((one) => quoted(tame(`${one}`))).join(",")).join("\n");
    saveFile(title, "csv", new Blob(["\ufeff", text, "\n"], { type: "text/csv" }));
  }

  const save = (table) => saveRows(table.caption.innerText, rowsOf(table));

  for (const sheet of document.querySelectorAll(".sheet")) {
    const table = sheet.querySelector("table");
    const tools = document.createElement("div");
    tools.className = "tools";
    sheet.prepend(tools);
    const title = table.caption.innerText.trim();
    for (const [name, act] of [["Copy", copy], ["CSV", save]]) {
      const button = made("button", name, tools);
      button.type = "button";
      button.setAttribute("aria-label", `${name}: ${title}`);
      button.addEventListener("click", () => act(table));
    }
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(table, column, up);
      });
    });
  }

  // Paper shows everything.
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });

  // The rail marks where the reader is.
  const links = new Map([...document.querySelectorAll("nav a")].map((one) => [one.hash.slice(1), one]));
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      for (const one of links.values()) one.removeAttribute("aria-current");
      links.get(target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const section of document.querySelectorAll("main > section")) seen.observe(section);

  return {
    made,
    saveFile,
    saveRows,
    say: (text) => { said.textContent = text; },
    follow: (section, link) => { links.set(section.id, link); seen.observe(section); },
  };
})();
