// What every part of the page needs: its elements, words for numbers, and requests.

export const at = (id) => document.getElementById(id);

let running = 0;
export async function ask(path, body) {
  document.body.dataset.running = ++running;
  try {
    const options = body === undefined ? {} : {
      method: "POST", keepalive: true, body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
    };
    const answer = await fetch(path, options);
    const content = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(content.error), { status: answer.status, content });
    return content;
  } catch (error) {
    if (error.status === undefined) {
      error.message = "The server does not answer. Start mne_otica review again and open its new address.";
    }
    throw error;
  } finally {
    document.body.dataset.running = --running;
  }
}

export function tell(text, wrong = false) {
  at("state").textContent = text;
  at("state").classList.toggle("wrong", wrong);
}

export function show(id, text) {
  at(id).textContent = text || "";
  at(id).hidden = !text;
}

export const known = (text) => text !== undefined && text !== null && text !== "" && text !== "n/a";
export const percent = (value) => value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`;
export const nameOf = (k) => `ICA${String(k).padStart(3, "0")}`;

export function element(name, attributes, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}
