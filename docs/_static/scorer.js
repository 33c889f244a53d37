// The order of search results: first what is named like the query or has its words in its title.
var Scorer = (() => {
  const words = (text) => text.toLowerCase().match(/[\p{Letter}\p{Number}]+/gu)?.join(" ") ?? "";
  const query = words(new URLSearchParams(location.search).get("q") ?? "");
  return {
    score: ([page, title, anchor, description, score]) => {
      const found = [title, page.split(/[/.]/).pop()].map(words);
      if (found.includes(query)) return score + 30;
      return found[0].includes(query) ? score + 15 : score;
    },
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
  };
})();
