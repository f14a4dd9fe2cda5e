// What the terminal's own script leaves to the page: it begins by `window.onload`.
"use strict";

const begin = window.onload;
const terminal = document.getElementById("terminal");
const background = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
terminal.dataset.sessionWebsocketUrl += `/${background}`;
// Texts of spans have links in them, which a click on their rows would open, too.
window.open = () => null;
document.getElementById("again").addEventListener("click", () => location.reload());

window.onload = async (event) => {
  // It measures its cells once: by the fonts that it paints with.
  await Promise.allSettled([document.fonts.load("15px 'Roboto Mono'"), document.fonts.load("bold 15px 'Roboto Mono'")]);
  begin(event);
};

// The terminal says who has the focus, which can't be said before its socket is open.
new MutationObserver((_, observer) => {
  if (document.body.classList.contains("-loaded")) {
    observer.disconnect();
    terminal.querySelector("textarea").focus();
  }
}).observe(document.body, { attributeFilter: ["class"] });
