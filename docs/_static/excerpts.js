// Excerpts of search results from texts.js: a page on a disk may not fetch the pages themselves.
document.addEventListener("DOMContentLoaded", () => {
  const query = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase();
  const sought = [query, ...query.split(/[^\p{Letter}\p{Number}_]+/u)].filter((one) => one.length > 1);
  window.fetch = async (address) => {
    const [page] = String(address).replace(/^(\.\/)+/, "").split(".html");
    return { text: async () => page };
  };
  Search.makeSearchSummary = (page, _, anchor) => {
    const sections = TEXTS[page] ?? [];
    const first = sections.findIndex(([name]) => name === anchor);
    const text = sections.slice(Math.max(first, 0)).map(([, said]) => said).join(" ");
    const places = sought.map((one) => text.toLowerCase().indexOf(one)).filter((place) => place >= 0);
    const start = text.lastIndexOf(" ", Math.max((places[0] ?? 0) - 100, 0)) + 1;
    const summary = document.createElement("p");
    summary.className = "context";
    summary.textContent = `${start ? "… " : ""}${text.substring(start, start + 240)} …`;
    return summary;
  };
});
