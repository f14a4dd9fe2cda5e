"use strict";
/* Unpacks the page's own script and starts it: the policy of the page names the digest of exactly that text. */
(async () => {
  const bytes = Uint8Array.from(atob(document.getElementById("script").textContent), one => one.charCodeAt(0));
  const text = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  const script = document.createElement("script");
  script.textContent = await text;
  document.body.append(script);
})();
