// What makes the pages smoother. Everything works without it: forms go to the server and come back as pages.
"use strict";

const STREAMED = "application/x-ndjson";
const MOST_GUEST_TURNS = 100;
const MOST_GUEST_BYTES = 450000;
// As the history knows them: escaped for Markdown, quoted, in other letters.
const MARKERS = /((?:>[ \t]?)*\\*\[\\*\[[ \t]*orbit\\*:recalled\\*-memory[ \t]+(?:begin|end)[ \t]*\\*\]\\*\])/i;
// What may become one when the next piece of a reply comes.
const MARKER_BEGUN = /(?:>[ \t]?)*\\*\[\\*(?:\[[^\]\n]*\]?)?$/;

/** Tell the server, and the forms that ask, in which zone this browser is. */
function tellZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  document.cookie = `orbit_zone=${zone}; path=/; max-age=31536000; samesite=lax`;
  document.querySelectorAll("[data-zone]").forEach((field) => { field.value = zone; });
}

/** Have a screen reader say something. */
function announce(text) {
  document.querySelector("[data-status]").textContent = text;
}

/** Send a form as a script does. */
function send(form, extra, headers) {
  const fields = new URLSearchParams(new FormData(form));
  Object.entries(extra).forEach(([name, value]) => fields.set(name, value));
  return fetch(form.action, { method: "POST", body: fields, headers: headers || {}, credentials: "same-origin" });
}

/** Put a thread's present state where its earlier one is, without losing the keyboard's place. */
async function refresh(place, address) {
  const answer = await fetch(address, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) return;
  const focused = document.activeElement && document.activeElement.id;
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  // A reply that is being made isn't stored yet, and stays in view.
  const coming = [...place.querySelectorAll("[data-coming]")];
  place.replaceChildren(...parsed.body.childNodes);
  const list = place.querySelector("ol");
  if (list) list.append(...coming);
  if (focused && !document.activeElement.id) {
    const again = document.getElementById(focused);
    if (again) again.focus();
  }
}

/** Show an eye as it is now, and its label, wherever in the page the same message or blink stands. */
function showEye(id, told) {
  const isClosed = told.not_remembered ?? told.is_excluded;
  document.querySelectorAll(`[data-eye="${CSS.escape(id)}"] [aria-pressed]`).forEach((button) => {
    button.setAttribute("aria-pressed", String(isClosed));
    const use = button.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, isClosed ? "#eye-slash" : "#eye"));
    const label = document.getElementById(button.getAttribute("aria-describedby"));
    if (label && told.label) { label.textContent = told.label; label.dataset.state = told.state; }
  });
}

/** Have every thread of the page show its present state: a message's eye decides on its run's reply, and others' labels. */
async function refreshThreads() {
  for (const list of document.querySelectorAll("[data-thread-src]")) {
    await refresh(list.closest("[data-thread]"), list.dataset.threadSrc);
  }
}

/** Have the page's counts and lists show their present state, but for the list that somebody is at work in. */
async function refreshParts(form) {
  const parts = [...document.querySelectorAll("[data-live]")].filter((part) => !part.contains(form));
  if (!parts.length) return;
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) return;
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts) {
    const now = parsed.getElementById(part.id);
    if (now) part.replaceChildren(...now.childNodes);
  }
}

/** Turn an eye, or catch a reply. */
async function change(form) {
  const answer = await send(form, { format: "json" });
  if (!answer.ok) { form.submit(); return; }
  const told = await answer.json();
  if (form.dataset.eye) showEye(form.dataset.eye, told);
  if (told.label) announce(told.label);
  await refreshThreads();
  await refreshParts(form);
}

/** Return a text's stretches, each recalled or not, as the server does: in doubt more is recalled. */
function stretches(text) {
  let found = [];
  let depth = 0;
  text.split(MARKERS).forEach((piece, place) => {
    if (place % 2 && /begin[ \t]*\\*\]\\*\]$/i.test(piece)) depth += 1;
    else if (place % 2) {
      if (!depth && found.length) found = [{ text: found.map((each) => each.text).join(""), isRecalled: true }];
      depth = Math.max(depth - 1, 0);
    } else if (piece.trim()) found.push({ text: piece.trim(), isRecalled: depth > 0 });
  });
  return found;
}

/** Show a text where it goes, each block under the heading that is true of it, as the server does. */
function showText(words, text, told) {
  const own = (lines, line) => JSON.parse(lines).includes(line);
  words.replaceChildren(...stretches(text).map((stretch) => {
    const [first, ...rest] = stretch.text.split("\n");
    const shown = document.createElement("div");
    shown.className = "orbit-text";
    shown.dir = "auto";
    shown.textContent = stretch.text;
    if (!stretch.isRecalled || own(told.beginnings, first)) return shown;
    const block = document.createElement("blockquote");
    const name = document.createElement("div");
    block.className = "border-start border-3 ps-2 my-2 text-body-secondary";
    name.className = "small fw-semibold";
    const isOwn = own(told.headings, first);
    name.textContent = isOwn ? first : told.recalled;
    if (isOwn) shown.textContent = rest.join("\n").trim();
    block.append(name, shown);
    return block;
  }));
}

/** Add a turn to the thread above a composer, and return where its text goes. */
function addTurn(list, role, who, text, told) {
  const [turn, card, body, name, words] = ["li", "div", "div", "div", "div"].map((tag) => document.createElement(tag));
  turn.className = `orbit-turn orbit-turn-${role}`;
  card.className = "card";
  body.className = "card-body p-2";
  name.className = "fw-semibold small";
  name.textContent = who;
  showText(words, text, told);
  body.append(name, words);
  card.append(body);
  turn.append(card);
  list.append(turn);
  turn.scrollIntoView({ block: "nearest" });
  return words;
}

/** Read a streamed reply, an object a line. */
async function* pieces(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += value || "";
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) yield JSON.parse(line);
    if (done) return;
  }
}

/** Keep a guest's thread in their page, and nowhere else. */
function keepGuestTurn(form, role, text) {
  const field = form.querySelector("[data-guest-thread]");
  if (!field) return;
  const turns = [...JSON.parse(field.value), { role, text }].slice(-MOST_GUEST_TURNS);
  // As a form sends it: most letters take several bytes, and a request may have a million.
  const size = () => new URLSearchParams({ thread: JSON.stringify(turns) }).toString().length;
  while (turns.length && size() > MOST_GUEST_BYTES) turns.shift();
  field.value = JSON.stringify(turns);
}

/** Show what a page shows once there are messages, as the server does. */
function showBegun() {
  document.querySelectorAll("[data-begun]").forEach((part) => { part.hidden = false; });
  document.querySelectorAll("[data-empty]").forEach((part) => { part.hidden = true; });
}

/** Say something, and show the reply as it comes. */
async function say(form) {
  const scope = form.closest("[data-dock]") || document;
  const place = scope.querySelector("[data-thread]");
  const problem = scope.querySelector("[data-problem]");
  const field = form.querySelector("textarea");
  const button = form.querySelector("button");
  const text = field.value.trim();
  if (!text || button.disabled) return;
  let list = place.querySelector("ol");
  if (!list) { list = document.createElement("ol"); list.className = "orbit-thread"; place.append(list); }
  problem.hidden = true;
  button.disabled = true;
  let reply = "";
  let turn = null;
  try {
    const answering = send(form, { text }, { Accept: STREAMED });
    const mine = addTurn(list, "user", form.dataset.you, text, form.dataset).closest("li");
    const words = addTurn(list, "assistant", "OrbitPilot", "…", form.dataset);
    turn = words.closest("li");
    turn.dataset.coming = "";
    const answer = await answering;
    if (!answer.ok) {
      mine.remove();
      words.closest("li").remove();
      problem.textContent = form.dataset.notSent;
      problem.hidden = false;
      return;
    }
    field.value = "";
    showBegun();
    keepGuestTurn(form, "user", text);
    for await (const piece of pieces(answer)) {
      if (piece.problem) { problem.textContent = piece.problem; problem.hidden = false; continue; }
      reply += piece.text;
      showText(words, reply.replace(MARKER_BEGUN, ""), form.dataset);
      words.scrollIntoView({ block: "nearest" });
    }
    if (reply) keepGuestTurn(form, "assistant", reply);
    else words.closest("li").remove();
    showText(words, reply, form.dataset);
    announce(words.innerText);
  } catch {
    problem.textContent = form.dataset.failed;
    problem.hidden = false;
  } finally {
    button.disabled = false;
    if (turn) delete turn.dataset.coming;
  }
  if (!form.querySelector("[data-guest-thread]")) {
    await refresh(place, scope.dataset ? scope.dataset.dock : "/orbitpilot/thread/");
    const last = place.querySelector("li:last-of-type");
    if (last) last.scrollIntoView({ block: "nearest" });
    await refreshParts(form);
  }
  field.focus();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-eye], [data-catch]")) { event.preventDefault(); change(form).catch(() => form.submit()); }
  if (form.matches("[data-say]")) { event.preventDefault(); say(form); }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("[data-say] textarea")) {
    event.target.form.requestSubmit();
  }
  const dock = document.querySelector("[data-dock][open]");
  if (event.key === "Escape" && dock && !event.isComposing) {
    if (dock.contains(document.activeElement)) dock.querySelector("summary").focus();
    dock.open = false;
  }
});

// The docked window loads its thread when it is opened, and not before.
document.querySelectorAll("[data-dock]").forEach((dock) => {
  dock.addEventListener("toggle", async () => {
    if (!dock.open) return;
    const place = dock.querySelector("[data-thread]");
    if (!dock.querySelector("[data-guest-thread]")) {
      await refresh(place, dock.dataset.dock);
      place.scrollTop = place.scrollHeight;
    }
    dock.querySelector("textarea").focus();
  });
});

tellZone();
