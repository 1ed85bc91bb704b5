"use strict";
// The list of results: rows that do not match what is asked for are hidden.

const byId = (id) => document.getElementById(id);
const rows = [...byId("inputs").tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);

function filter() {
  const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const [row, text] of rows) {
    const isFound = words.every((word) => text.includes(word));
    const hasEvents = !byId("with-events").checked || row.dataset.events !== "0";
    const hasCautions = !byId("with-cautions").checked || row.dataset.cautions !== "0";
    row.hidden = !(isFound && hasEvents && hasCautions);
    count += row.hidden ? 0 : 1;
  }
  byId("count").textContent = `${count} of ${rows.length} shown`;
}

for (const id of ["words", "with-events", "with-cautions"]) byId(id).addEventListener("input", filter);
filter();
document.documentElement.dataset.ready = "yes";
