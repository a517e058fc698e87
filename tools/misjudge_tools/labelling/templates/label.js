"use strict";
// Keys, and one answer a form. All else works without script.
(() => {
  const root = document.documentElement;
  const form = document.getElementById("answer");
  const back = document.getElementById("back");
  const keys = document.getElementById("keys");
  const useKeys = document.getElementById("use-keys");
  const wanted = { y: "yes", n: "no", u: "unsure" };
  let asked = 0;

  const keysAreOn = () => sessionStorage.getItem("single-keys") !== "off";
  const choose = (name, value) => {
    const radio = form.querySelector(`input[name="${name}"][value="${value}"]`);
    radio.checked = true;
    radio.focus({ preventScroll: true });
  };
  const point = (to) => {
    asked = to;
    form.querySelectorAll("fieldset.done").forEach((one, n) => one.classList.toggle("asked", n === asked));
  };
  const answerDone = (value) => {
    choose(["success_a", "success_b"][asked], value);
    point(1 - asked);
  };
  const showKeys = () => (keys.open ? keys.close() : keys.showModal());
  const sign = (event) => {
    if (/^[!-~]$/.test(event.key)) return event.key.toLowerCase();
    return /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : event.key;
  };
  const act = (key) => {
    if (key === "z" && back) back.click();
    else if (!form) return false;
    else if (key === "a" || key === "b") choose("pref", key.toUpperCase());
    else if (key === "t") choose("pref", "tie");
    else if (key in wanted) answerDone(wanted[key]);
    else return false;
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
    const key = sign(event);
    if (key === "?" && keys) {
      showKeys();
      event.preventDefault();
    } else if (keys && keys.open) {
      return;
    } else if (key === "Enter" && form && event.target === document.body) {
      form.requestSubmit();
    } else if (keysAreOn() && act(key)) {
      event.preventDefault();
    }
  });
  // A page that the browser kept is older than what is stored.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });

  const tellKeys = () => root.classList.toggle("keys", keysAreOn());
  tellKeys();
  if (!form) return;
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
  const button = document.getElementById("show-keys");
  button.hidden = false;
  button.addEventListener("click", showKeys);
  useKeys.checked = keysAreOn();
  useKeys.addEventListener("change", () => {
    sessionStorage.setItem("single-keys", useKeys.checked ? "on" : "off");
    tellKeys();
  });
  form.querySelectorAll("fieldset.done").forEach((one, n) => one.addEventListener("focusin", () => point(n)));
  point(0);
})();
