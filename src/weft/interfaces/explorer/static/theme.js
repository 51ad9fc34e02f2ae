// Runs before the first paint, so that a page that was set to dark does not flash.
const chosenTheme = localStorage.getItem("weft-theme");
if (chosenTheme) document.documentElement.dataset.theme = chosenTheme;
