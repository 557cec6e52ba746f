// A run in progress: each event is the whole state as words, which take the place of those on the page.
(() => {
  const place = (id) => document.getElementById(id);
  const source = new EventSource("events");
  source.onmessage = ({ data }) => {
    const shown = JSON.parse(data);
    for (const id of ["headline", "state", "blocks", "trials", "next"]) place(id).textContent = shown[id];
    place("recent").replaceChildren(...shown.recent.map((cells) => {
      const row = document.createElement("tr");
      for (const cell of cells) row.insertCell().textContent = cell;
      return row;
    }));
    if (shown.over) source.close();
  };
})();
