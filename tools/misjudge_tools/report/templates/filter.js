"use strict";
for (const form of document.querySelectorAll("form.filter")) {
  const rows = [...document.getElementById(form.dataset.for).tBodies[0].rows];
  const [words, only] = form.querySelectorAll("input");
  const apply = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const keep = wanted.every((word) => text.includes(word)) && (!only.checked || row.classList.contains("wrong"));
      row.hidden = !keep;
      shown += keep;
    }
    form.querySelector("output").value = `${shown} / ${rows.length}`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
}
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", open);
open();
