// Excerpts of search results from texts.js: a page on a disk may not fetch the pages themselves.
document.addEventListener("DOMContentLoaded", () => {
  window.fetch = async (address) => {
    const [page] = String(address).replace(/^(\.\/)+/, "").split(".html");
    return { text: async () => page };
  };
  Search.htmlToText = (page, anchor) => {
    const sections = TEXTS[page] ?? [];
    const first = sections.findIndex(([name]) => name === anchor);
    return sections.slice(Math.max(first, 0)).map(([, text]) => text).join(" ");
  };
});
