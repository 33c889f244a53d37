"use strict";
// Save charts as SVG and PNG, and select the users of a point, bar or dot.
const marks = (() => {
  const PAINT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity"];
  const NS = "http://www.w3.org/2000/svg";

  // The colors of a light page, as style sheets have them first.
  function lightColors() {
    const rules = [...document.styleSheets[0].cssRules];
    const { style } = rules.find((rule) => rule.selectorText === ":root");
    return [...style].filter((name) => name.startsWith("--")).map((name) => [name, style.getPropertyValue(name)]);
  }

  function drawn(text, y, size, ink) {
    const line = document.createElementNS(NS, "text");
    Object.entries({ x: 2, y, fill: ink, "font-size": size }).forEach(([name, value]) => line.setAttribute(name, value));
    line.textContent = text;
    return line;
  }

  // The signs of a legend with their colors and names, in lines of about 45 characters.
  function legendOf(figure, holder) {
    const list = figure.closest("section").querySelector(".legend");
    if (!list) return [];
    const copy = holder.appendChild(list.cloneNode(true)), lines = [[]];
    let length = 0;
    for (const entry of copy.children) {
      length += entry.textContent.length + 4;
      if (length > 45 && lines.at(-1).length) { lines.push([]); length = entry.textContent.length; }
      const sign = entry.querySelector("span");
      lines.at(-1).push([sign.textContent, getComputedStyle(sign).color, entry.lastChild.textContent]);
    }
    copy.remove();
    return lines;
  }

  function drawnLegend(entries, y) {
    const line = drawn("", y, 11, "#59626d");
    for (const [sign, color, name] of entries) {
      for (const [text, fill] of [[`${sign}\u00a0`, color], [`${name.trim()}\u2003`, "#59626d"]]) {
        const part = line.appendChild(document.createElementNS(NS, "tspan"));
        part.setAttribute("fill", fill);
        part.textContent = text;
      }
    }
    return line;
  }

  // A drawing of its own: with the caption, on white, and with colors instead of classes.
  function standalone(figure) {
    const holder = document.body.appendChild(document.createElement("figure"));
    holder.className = "copy";
    for (const [name, value] of lightColors()) holder.style.setProperty(name, value);
    const svg = holder.appendChild(figure.querySelector("svg").cloneNode(true));
    for (const one of svg.querySelectorAll("*")) {
      const style = getComputedStyle(one);
      const names = one.tagName === "text" ? [...PAINT, "font-size"] : PAINT;
      if (one.tagName !== "title" && one.tagName !== "g") {
        for (const name of names) {
          const value = style.getPropertyValue(name);
          one.setAttribute(name, value === "rgba(0, 0, 0, 0)" ? "none" : value);
        }
      }
      for (const name of ["tabindex", "role", "aria-pressed", "aria-label", "data-at"]) one.removeAttribute(name);
    }
    for (const one of svg.querySelectorAll("*")) one.removeAttribute("class");
    const [width, height] = [Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
    const lines = [...figure.querySelector("figcaption").children].map((one) => one.textContent);
    const legend = legendOf(figure, holder);
    const top = 8 + 18 * (lines.length + legend.length);
    svg.setAttribute("xmlns", NS);
    svg.setAttribute("viewBox", `-8 ${-top - 8} ${width + 16} ${height + top + 16}`);
    svg.setAttribute("width", width + 16);
    svg.setAttribute("height", height + top + 16);
    svg.setAttribute("font-family", "Helvetica Neue, Arial, Liberation Sans, sans-serif");
    svg.setAttribute("font-size", "12");
    const paper = document.createElementNS(NS, "rect");
    Object.entries({ x: -8, y: -top - 8, width: width + 16, height: height + top + 16, fill: "white" })
      .forEach(([name, value]) => paper.setAttribute(name, value));
    svg.prepend(paper, ...legend.map((entries, i) => drawnLegend(entries, 18 * (lines.length + i) - top + 14)));
    paper.after(...lines.map((text, i) => drawn(text, 18 * i - top + 14, i ? 11 : 13, i ? "#59626d" : "#1c2126")));
    holder.remove();
    return svg;
  }

  const textOf = (figure) => new XMLSerializer().serializeToString(standalone(figure));
  const titleOf = (figure) => [...figure.querySelector("figcaption").children].map((one) => one.textContent).join(" ");

  const saveSvg = (figure) => page.saveFile(titleOf(figure), "svg", new Blob([textOf(figure)], { type: "image/svg+xml" }));

  async function savePng(figure) {
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(textOf(figure))}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [3 * image.width, 3 * image.height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => page.saveFile(titleOf(figure), "png", blob));
  }

  function addTools(figure) {
    const tools = document.createElement("div");
    tools.className = "chart-tools";
    for (const [name, act] of [["SVG", saveSvg], ["PNG", savePng]]) {
      const button = page.made("button", name, tools);
      button.type = "button";
      button.setAttribute("aria-label", `${name}: ${titleOf(figure)}`);
      button.addEventListener("click", () => act(figure));
    }
    figure.append(tools);
  }

  // One mark of a chart is reached by Tab, the others by arrows.
  function makeSelectable(figure, onPick) {
    const pick = JSON.parse(figure.dataset.pick);
    const all = [...figure.querySelectorAll("[data-at]")];
    figure.querySelector("svg").setAttribute("role", "group");
    const press = (mark) => {
      for (const one of document.querySelectorAll("[data-at][aria-pressed=true]")) one.setAttribute("aria-pressed", "false");
      mark.setAttribute("aria-pressed", "true");
      onPick(pick, JSON.parse(mark.dataset.at));
    };
    all.forEach((mark, i) => {
      mark.setAttribute("role", "button");
      mark.setAttribute("aria-pressed", "false");
      mark.setAttribute("aria-label", mark.querySelector("title").textContent);
      mark.setAttribute("tabindex", i ? "-1" : "0");
      mark.addEventListener("click", () => press(mark));
      mark.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (step) {
          const next = all[(i + step + all.length) % all.length];
          mark.setAttribute("tabindex", "-1");
          next.setAttribute("tabindex", "0");
          next.focus();
        } else if (event.key === "Enter" || event.key === " ") {
          press(mark);
        } else return;
        event.preventDefault();
      });
    });
  }

  return (onPick) => {
    for (const figure of document.querySelectorAll("main figure")) {
      addTools(figure);
      if (figure.dataset.pick) makeSelectable(figure, onPick);
    }
  };
})();
