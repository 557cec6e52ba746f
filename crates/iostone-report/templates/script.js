"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const remembered = () => { try { return localStorage.getItem("iostone-theme"); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem("iostone-theme", theme); } catch { /* a file may not store */ } };
  const isDark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const stored = remembered();
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  const button = document.getElementById("theme");
  const label = () => button.setAttribute("aria-label", isDark() ? "Switch to the light theme" : "Switch to the dark theme");
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    label();
  });
  label();
  for (const copy of document.querySelectorAll(".code button")) {
    copy.addEventListener("click", async () => {
      const pre = copy.parentElement.querySelector("pre");
      try {
        await navigator.clipboard.writeText(pre.textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(pre);
        copy.textContent = "Selected";
      }
      setTimeout(() => { copy.textContent = "Copy"; }, 1500);
    });
  }
})();
