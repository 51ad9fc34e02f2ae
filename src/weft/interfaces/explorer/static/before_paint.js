// Runs before the first paint, so that a page that was set to dark does not flash, and an empty one does not shift.
const chosenTheme = localStorage.getItem("weft-theme");
if (chosenTheme) document.documentElement.dataset.theme = chosenTheme;
if (!new URLSearchParams(location.search).get("topic")) document.documentElement.dataset.empty = "yes";
