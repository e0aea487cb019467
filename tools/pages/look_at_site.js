// What tools/pages/look_at_site.py asks of each page, once it is loaded.
(async () => {
  const complaints = [];
  // The page has followed a change of its width and scheme.
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  // The drawer of the menu slides to its place.
  const moving = document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime < Infinity);
  await Promise.all(moving.map((each) => each.finished.catch(() => null)));
  const article = document.querySelector("article") ?? document.body;

  // Pictures that are loaded when they come into sight are loaded now.
  const pictures = [...document.querySelectorAll("img")];
  for (const picture of pictures) picture.loading = "eager";
  await Promise.all(pictures.map((picture) => picture.decode().catch(() => null)));
  for (const picture of pictures) {
    if (!picture.naturalWidth) complaints.push(`a picture is missing: ${picture.getAttribute("src")}`);
  }

  const named = (element) => {
    const text = element.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
    return `<${element.tagName.toLowerCase()} class="${element.className}"> ${text}`;
  };

  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    complaints.push(`the page scrolls sideways: ${document.documentElement.scrollWidth} > ${width}`);
  }

  // Text must end where its box ends, unless something around it scrolls.
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const boxes = "td, th, pre, p, li, h1, h2, h3, h4, h5, dt, dd, figcaption, summary, a.md-button";
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const right = Math.max(0, ...[...range.getClientRects()].map((each) => each.right));
    if (!right) continue;
    const box = node.parentElement.closest(boxes);
    let inside = node.parentElement;
    while (inside && inside !== box && !scrolls(inside)) inside = inside.parentElement;
    if (!box || inside !== box || scrolls(box) || seen.has(box)) continue;
    if (right > box.getBoundingClientRect().right + 1.5) {
      seen.add(box);
      complaints.push(`text leaves its box: ${named(box)}`);
    }
  }

  return {complaints, scheme: document.body.getAttribute("data-md-color-scheme")};
})()
