"use strict";
// Draw the charts that stand in the page as data. Their text is SVG text, so no name in them is
// markup; expressions are interpreted, so the policy of the page need not allow eval.
(() => {
  const { places, specs } = JSON.parse(document.getElementById("figures").textContent);
  const axis = { labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelOverlap: true, labelSeparation: 8, titleLimit: 240, titlePadding: 8 };
  const options = {
    mode: "vega-lite",
    ast: true,
    actions: false,
    renderer: "svg",
    defaultStyle: false,
    logLevel: 1, // errors alone: a mean without an interval is not worth a warning
    tooltip: { disableDefaultStyle: true },
    config: {
      background: null,
      font: getComputedStyle(document.body).fontFamily,
      autosize: { type: "fit-x", contains: "padding" },
      view: { stroke: null },
      legend: { disable: true },
      axis,
    },
  };

  // Vega comes packed, at a third of its size; the policy of the page knows it by its digest.
  async function unpack() {
    const packed = atob(document.getElementById("library").textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(plain).text();
    document.head.append(script);
  }

  function element(name, text) {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
  }

  async function draw(place, metric) {
    const numbers = places[place.dataset.place][metric] ?? [];
    place.replaceChildren();
    place.closest("[data-optional]")?.toggleAttribute("hidden", numbers.length === 0);
    for (const number of numbers) {
      const { title, ...spec } = structuredClone(specs[number]);
      const figure = place.appendChild(document.createElement("figure"));
      const caption = figure.appendChild(document.createElement("figcaption"));
      caption.append(element("strong", title.text ?? title), element("span", title.subtitle ?? ""));
      const chart = figure.appendChild(element("div", ""));
      const config = { ...options.config, axisY: { labelLimit: 0.38 * chart.clientWidth } };
      await vegaEmbed(chart, spec, { ...options, config });
    }
  }

  async function show(metric) {
    for (const part of document.querySelectorAll("[data-metric]")) {
      part.hidden = part.dataset.metric !== metric;
    }
    await Promise.all([...document.querySelectorAll("[data-place]")]
      .filter((place) => !place.dataset.all).map((place) => draw(place, metric)));
  }

  async function start() {
    await unpack();
    const picker = document.getElementById("metric");
    for (const place of document.querySelectorAll("[data-all]")) {
      const all = Object.values(places[place.dataset.place]).flat();
      places[place.dataset.place] = { all };
      await draw(place, "all");
    }
    await show(picker.value);
    picker.addEventListener("change", () => show(picker.value));
    document.documentElement.dataset.drawn = "yes";
  }

  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  start();
})();
